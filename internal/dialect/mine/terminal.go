package mine

import (
	"context"
	"os"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// atTerminal runs a command for a user who sits at a terminal. Stdout and stderr are the user's
// own, and the program is in the foreground process group, so that it may draw, ask on /dev/tty,
// and be stopped and interrupted from the keyboard. Stdin has the invocation and ends: that is
// where the protocol has it, and plugins read it to its end. It is the terminal for a command of
// its own mind.
func (p *plugin) atTerminal(ctx context.Context, c dialect.Command, spec proc.Spec, own bool) (code int, err error) {
	if own {
		return p.inForeground(ctx, c.Terminal, spec, c.Terminal.In)
	}
	stdin, feed, err := os.Pipe()
	if err != nil {
		return -1, err
	}
	fed := make(chan struct{})
	go func() { // a plugin that does not read it says so by its exit
		defer close(fed)
		_, _ = feed.Write(line(commandCall(c.Name, c.Args)))
		_ = feed.Close()
	}()
	code, err = p.inForeground(ctx, c.Terminal, spec, stdin)
	_ = stdin.Close() // whoever still writes to it is let go
	<-fed
	return code, err
}

// inForeground runs the program in the host's place, on a stdin of its own.
func (p *plugin) inForeground(ctx context.Context, t *dialect.Terminal, spec proc.Spec, stdin *os.File) (code int, err error) {
	exit, err := p.rt.Procs.Foreground(ctx, spec, proc.Foreground{Stdin: stdin, Stdout: t.Out, Stderr: t.ErrOut, Signals: t.Signals})
	if err != nil {
		return -1, unstarted(err)
	}
	return exit.ShellCode(), nil
}

// confined tells whether a program is started in a sandbox or under limits, which hold for
// processes of their own group alone.
func confined(spec proc.Spec) bool { return spec.Box != nil || spec.Limits != limits.Limits{} }
