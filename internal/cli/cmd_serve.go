package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newServeCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:        "serve [COMMAND]",
		SuggestFor: []string{"start", "daemon", "server"},
		Short:      "Run the daemon: sessions, plugins and events over HTTP",
		GroupID:    groupAgent,
		Long: `Run the daemon until it is told to end (Ctrl-C, SIGTERM).

The daemon keeps the plugins running. It answers HTTP on 127.0.0.1:8000, or the
address of [server] listen or --listen, and on a socket for your own programs.
An address that is not a loopback address needs [server] token. Web pages of
other sites cannot use the daemon. Plugins in a sandbox cannot use it either,
with one exception: a plugin with net:* that knows the token. MCP clients find
the tools of plugins at /mcp.

The daemon also runs the agents of ` + "`patchbay job list`" + ` when they are due.

SIGHUP reloads configuration, secrets, plugins and agents. Turns and runs in
progress lose no event. If a file has an error, everything stays as it was, and
the log, ` + "`/v1/doctor`" + ` and ` + "`/v1/health`" + ` report the error. Changes of [server]
and [engine] take effect at the next start.

If a hook of another agent (` + "`patchbay hook`" + `) has started a daemon, that daemon
ends and this one replaces it; no event is lost.

When the daemon ends, turns get ten seconds to finish; turns that do not are
stored as interrupted. The log goes to stderr and to a file: see
` + "`patchbay serve logs`" + `.

--install hands the daemon over to systemd, or to launchd on macOS, which starts
it at once and at every login. The flags that you give beside --install are
kept. Keys of models are not written to the service's file: put them into
secrets.toml.`,
		Example: `  patchbay serve
  patchbay serve --listen 127.0.0.1:9000
  patchbay serve status
  patchbay serve --install --model anthropic:claude-sonnet-4-5
  patchbay serve --uninstall
  curl -X POST http://localhost:8000/session -H 'Content-Type: application/json' -d '{}'`,
		Annotations: exits(exit{exitOK, "the daemon was told to end"}, exit{exitFailed, "the daemon could not listen, there is no systemd or launchd for --install, or --uninstall did not end the daemon"},
			exit{exitNotFound, "--uninstall: the daemon is not installed"},
			exit{exitConfig, "the configuration has an error"}, exit{exitTaken, "another program uses the address, or a daemon is running already"},
			exit{exitInterrupted, "interrupted before the daemon had started"}),
		Args: refuseArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			switch {
			case f.install:
				return a.install(cmd.Context(), f)
			case f.uninstall:
				return a.uninstall(cmd.Context())
			}
			return a.runServe(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "", "listen on this `HOST:PORT` (default: [server] listen, or 127.0.0.1:8000)")
	cmd.Flags().BoolVar(&f.access, "access-log", false, "log each request: method, path, status, time")
	cmd.Flags().BoolVar(&f.install, "install", false, "make systemd or launchd keep the daemon running, and start it")
	cmd.Flags().BoolVar(&f.uninstall, "uninstall", false, "undo --install, and end the daemon")
	f.model.add(cmd)
	cmd.AddCommand(newServeStatusCommand(a), newServeStopCommand(a), newServeLogsCommand(a))
	return cmd
}

// serveFlags holds the flags of serve.
type serveFlags struct {
	listen    string
	access    bool
	install   bool
	uninstall bool
	model     modelFlags
}

func (f *serveFlags) check() error {
	if f.install && f.uninstall {
		return usage("leave one of them out", "--install and --uninstall cannot be used together")
	}
	if f.listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(f.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return usage("write HOST:PORT, such as 127.0.0.1:8000", "--listen %q is not an address", f.listen)
	}
	return nil
}

func (a *app) runServe(ctx context.Context, f serveFlags) error {
	a.log = longLog(nil)
	path := a.keepServeLog()
	hangups, ctx, stop := a.hangups(ctx)
	defer stop()
	err := a.withCore(ctx, f.model, func(core *daemon.Core) error {
		go reloadWhenAsked(ctx, hangups, core)
		defer context.AfterFunc(ctx, func() { a.logger().Info("ending: running turns have ten seconds") })()
		return core.Serve(ctx, daemon.ServeOptions{Listen: f.listen, Log: path, Access: f.access, Ready: func(at daemon.Addresses) { a.printAddress(ctx, core, at) }})
	})
	if err != nil {
		k, _ := classify(ctx, err)
		a.log.also.writeFailure(joinLines(message(k, err), fixOf(err)))
		return err
	}
	a.logger().Info("the daemon has ended")
	return nil
}

// keepServeLog also writes the log to a file, and returns its path, or "" if that fails.
func (a *app) keepServeLog() string {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err == nil {
		a.log.also, err = openLogFile(dirs.State, serveLog)
	}
	if err != nil {
		a.log.also = nil
		a.logger().Warn("the log is not written to a file", "err", err)
		return ""
	}
	a.log.also.fault = func(err error) {
		fmt.Fprintf(a.Err, "%s %s\n", a.errScreen().Paint(render.StyleYellow, "warning:"), render.Line("the log is not written to its file: "+err.Error()))
	}
	return a.log.also.path
}

// hangups returns a channel that receives when SIGHUP asks for a reload. SIGHUP also reports that
// the terminal is gone. If the daemon was started in that terminal, the context ends.
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
			default: // a reload is already waiting
			}
		}
	}()
	return again, ctx, func() { signal.Stop(signals); cancel() }
}

// reloadWhenAsked reloads everything whenever again receives. The core logs errors and adds them to
// its findings.
func reloadWhenAsked(ctx context.Context, again <-chan struct{}, core *daemon.Core) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			_ = core.Reload(ctx) // Reload has logged the error
		}
	}
}

// printAddress prints the address of the daemon. Other programs wait for this line.
func (a *app) printAddress(ctx context.Context, core *daemon.Core, at daemon.Addresses) {
	a.log.also.writeAddress(at.HTTP)
	if a.flags.json {
		if err := a.printJSON(map[string]string{"http": at.HTTP, "socket": at.Socket}); err != nil {
			a.logger().Warn("cannot print the address", "err", err)
		}
		return
	}
	status, err := core.Overview(ctx)
	if err != nil {
		a.logger().Warn("cannot count plugins and agents", "err", err)
	}
	o := a.screen()
	a.printf("%s on %s\n", o.Paint(render.StyleBold, "patchbay"), o.Paint(render.StyleCyan, at.HTTP))
	status.HTTP = "" // the line above has the address
	if core.Model().Info().Offline {
		status.Model += " (choose another with --model PROVIDER:NAME)"
	}
	a.statusRows(&status, time.Now())
	a.sayf("Ctrl-C ends it.\n")
}
