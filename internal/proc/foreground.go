package proc

import (
	"context"
	"os"
)

// Foreground is what a program that takes the host's place is given of it.
type Foreground struct {
	Stdin, Stdout, Stderr *os.File         // the host's own, or a pipe the caller reads; the caller closes them
	Signals               <-chan os.Signal // passed on to the program; nil: none
}

// Foreground runs a program in the host's own place: in the host's process group, so that the
// terminal's Ctrl-C and job control work as if the host were not there, and on its streams. It
// returns when the program has ended; ctx bounds the start only, because what ends a program in the
// foreground is a signal. It is the user's own program and no plugin, so it is not guarded: a
// daemon that it starts lives on, as it would without us.
func (g *Group) Foreground(ctx context.Context, s Spec, f Foreground) (Exit, error) {
	if err := s.check(); err != nil {
		return Exit{}, err
	}
	c, err := g.resolve(ctx, s)
	if err != nil {
		return Exit{}, err
	}
	child, err := fork(ctx, c, &os.ProcAttr{
		Dir:   s.Dir,
		Env:   append([]string{}, s.Env...), // nil would mean the host's own
		Files: []*os.File{f.Stdin, f.Stdout, f.Stderr},
	})
	if err != nil {
		return Exit{}, explain(ctx, s, c, err)
	}
	return attend(child, f.Signals)
}

// attend passes signals on until the program has ended.
func attend(child *os.Process, signals <-chan os.Signal) (Exit, error) {
	ended := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals: // never, where nil
				_ = child.Signal(s) // ended in this moment: nobody to tell
			case <-ended:
				return
			}
		}
	}()
	state, err := child.Wait()
	close(ended)
	<-passed
	if err != nil {
		return Exit{}, err
	}
	return exitOf(state), nil
}
