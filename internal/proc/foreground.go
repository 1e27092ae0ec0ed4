package proc

import (
	"context"
	"os"
)

// Foreground holds the streams and signals of a program that runs in the host's place.
type Foreground struct {
	Stdin, Stdout, Stderr *os.File         // the host's own, or a pipe that the caller reads; the caller closes them
	Signals               <-chan os.Signal // passed on to the program; may be nil
}

// Foreground runs a program in the host's place: on its streams and in its process group, so that
// the terminal's Ctrl-C and job control work as if the host were not there. It returns when the
// program has ended. ctx bounds only the start, because a program in the foreground is ended by a
// signal. It is the user's own program and not a plugin, so it is not guarded: a daemon that it
// starts goes on running, as it would without the host.
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
	return waitForwarding(child, f.Signals)
}

// waitForwarding passes signals on until the program has ended.
func waitForwarding(child *os.Process, signals <-chan os.Signal) (Exit, error) {
	ended := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals: // a nil channel never receives
				_ = child.Signal(s) // fails if the program has just ended
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
