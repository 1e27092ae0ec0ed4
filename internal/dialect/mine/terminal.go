package mine

import (
	"context"
	"os"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// atTerminal runs a command for a user at a terminal. The program gets the terminal as stdout and
// stderr and runs in the foreground process group, so that it may draw, ask on /dev/tty, and be
// stopped and interrupted from the keyboard. Its stdin is the invocation, which plugins read to its
// end, or the terminal if the command declares stdin = "user".
func (p *plugin) atTerminal(ctx context.Context, c dialect.Command, spec proc.Spec, own bool) (code int, err error) {
	if own {
		return p.inForeground(ctx, c.Terminal, spec, c.Terminal.In)
	}
	stdin, feed, err := os.Pipe()
	if err != nil {
		return -1, err
	}
	fed := make(chan struct{})
	go func() { // if the plugin does not read it, its exit code says whether that matters
		defer close(fed)
		_, _ = feed.Write(line(commandCall(c.Name, c.Args)))
		_ = feed.Close()
	}()
	code, err = p.inForeground(ctx, c.Terminal, spec, stdin)
	_ = stdin.Close() // unblocks the goroutine if it still writes
	<-fed
	return code, err
}

// inForeground runs the program in the foreground, with the given stdin.
func (p *plugin) inForeground(ctx context.Context, t *dialect.Terminal, spec proc.Spec, stdin *os.File) (code int, err error) {
	exit, err := p.rt.Procs.Foreground(ctx, spec, proc.Foreground{Stdin: stdin, Stdout: t.Out, Stderr: t.ErrOut, Signals: t.Signals})
	if err != nil {
		return -1, unstarted(err)
	}
	return exit.ShellCode(), nil
}

// confined reports whether a program is started in a sandbox or under limits. Both need a process
// group of their own, so such a program cannot be in the foreground.
func confined(spec proc.Spec) bool { return spec.Box != nil || spec.Limits != limits.Limits{} }
