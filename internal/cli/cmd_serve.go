package cli

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newServeCommand(a *app) *cobra.Command {
	var listen string
	var install bool
	var m modelFlags
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the daemon: sessions, plugins and events over HTTP",
		GroupID: groupAgent,
		Long: `Run the daemon until it is told to end (Ctrl-C, SIGTERM).

It keeps the plugins running and answers HTTP on 127.0.0.1:8000, or where
[server] listen or --listen says, and on a socket for programs of yours. Any address
but a loopback one needs [server] token. Web pages of other sites cannot use it,
nor can plugins in a sandbox. MCP clients find the tools of plugins at /mcp.

It also runs the agents of ` + "`patchbay job list`" + ` when they are due.

SIGHUP reloads configuration, secrets, plugins and agents. Turns and runs under way lose
no event. Where a file is at fault everything stays as it was, and the log, ` + "`/v1/doctor`" + `
and ` + "`/v1/health`" + ` say so. [server] and [engine] take effect at the next start.

A daemon that a hook of another agent has started (` + "`patchbay hook`" + `) makes room for
this one, and no event is lost.

When it ends, turns get ten seconds to finish; those that do not are kept as
interrupted.`,
		Example: `  patchbay serve
  patchbay serve --listen 127.0.0.1:9000
  patchbay serve --install
  curl -X POST http://localhost:8000/session -H 'Content-Type: application/json' -d '{}'`,
		Annotations: exits(exit{exitOK, "it was told to end"}, exit{exitFailed, "it could not listen"},
			exit{exitConfig, "the configuration is at fault"}),
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if install {
				return a.install(listen)
			}
			return a.runServe(cmd.Context(), listen, m)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "listen on this `ADDRESS` (host:port)")
	cmd.Flags().BoolVar(&install, "install", false, "write the file that keeps the daemon running (systemd, launchd), and start nothing")
	m.add(cmd.Flags())
	return cmd
}

func (a *app) runServe(ctx context.Context, listen string, m modelFlags) error {
	if listen != "" {
		if _, _, err := net.SplitHostPort(listen); err != nil {
			return usage("write HOST:PORT, such as 127.0.0.1:8000", "--listen %q: %w", listen, err)
		}
	}
	a.log = longLog(nil)
	hangups, ctx, stop := a.hangups(ctx)
	defer stop()
	return a.withCore(ctx, m, func(core *daemon.Core) error {
		go reloads(ctx, hangups, core)
		return core.Serve(ctx, daemon.ServeOptions{Listen: listen, Ready: func(at daemon.Addresses) { a.serving(core, at) }})
	})
}

// hangups are the signals upon which everything is read again. SIGHUP also tells that the terminal has gone away; then, if it is the
// one that the daemon was started in, the context ends.
func (a *app) hangups(parent context.Context) (<-chan struct{}, context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, again := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if a.OutTTY && !term.IsTerminal(os.Stdout.Fd()) {
				cancel()
				return
			}
			select {
			case again <- struct{}{}:
			default: // one is to come anyway
			}
		}
	}()
	return again, ctx, func() { signal.Stop(signals); cancel() }
}

// reloads reads everything again each time that it is told to. What is wrong is in the core's log and in its findings.
func reloads(ctx context.Context, again <-chan struct{}, core *daemon.Core) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			_ = core.Reload(ctx) // it has told of its error
		}
	}
}

// serving tells where the daemon answers. Other programs wait for this line.
func (a *app) serving(core *daemon.Core, at daemon.Addresses) {
	if a.flags.json {
		if err := a.printJSON(map[string]string{"http": at.HTTP, "socket": at.Socket}); err != nil {
			a.logger().Warn("the address could not be told", "err", err)
		}
		return
	}
	o := a.screen()
	ready := 0
	for _, p := range core.Host.Plugins() {
		if p.State == "ready" {
			ready++
		}
	}
	a.printf("%s on %s\n", o.Paint(render.StyleBold, "patchbay"), o.Paint(render.StyleCyan, at.HTTP))
	a.printf("  model    %s\n", modelLine(core.Model().Info()))
	a.printf("  plugins  %d ready of %d (patchbay plugin list)\n", ready, len(core.Host.Plugins()))
	a.printf("  socket   %s\n", at.Socket)
	a.printf("Ctrl-C ends it.\n")
}
