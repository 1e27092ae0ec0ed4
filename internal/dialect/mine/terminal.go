package mine

import (
	"context"
	"os"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// atTerminal runs a command for a user who sits at a terminal. Stdout and stderr
// are the user's own, and the program is in the foreground process group, so that
// it may draw, ask on /dev/tty, and be stopped and interrupted from the keyboard.
// Stdin has the invocation and ends: that is where the protocol has it, and
// plugins read it to its end.
func (p *plugin) atTerminal(ctx context.Context, c dialect.Command, spec proc.Spec) (code int, err error) {
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
	t := c.Terminal
	exit, err := p.rt.Procs.Foreground(ctx, spec, proc.Foreground{Stdin: stdin, Stdout: t.Out, Stderr: t.ErrOut, Signals: t.Signals})
	_ = stdin.Close() // whoever still writes to it is let go
	<-fed
	if err != nil {
		return -1, unstarted(err)
	}
	return exit.ShellCode(), nil
}

// confined tells whether a program is started in a sandbox or under limits, which
// hold for processes of their own group alone.
func confined(spec proc.Spec) bool { return spec.Box != nil || spec.Limits != limits.Limits{} }
