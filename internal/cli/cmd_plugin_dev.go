package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugindev"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/storage"
)

func newPluginDevCommand(a *app) *cobra.Command {
	var watch []string
	cmd := &cobra.Command{
		Use:   "dev PATH",
		Short: "Run a plugin while you write it: restart it on changes, and show all that it does",
		Long: `Run the one plugin at PATH, a directory or a file of any dialect, installed or
not. Whenever one of its files changes, the plugin is restarted. A mistake is
shown with its line; after the next change, the plugin is started again.
Everything that happens is shown: what the plugin is sent, what it answers and
changes, what it writes to stderr, its notifications, and what its sandbox
denies.

On a terminal, press f to send a sample event or tool call, e to edit the last
one and send it, a to send it again unchanged, r to restart the plugin, l to
open the log, and q to quit. With --json every event is a line of JSON.

Without a terminal, these commands are read from stdin, one on each line:

  fire POINT [JSON]   call NAME [JSON]   again [JSON]   list   restart   quit

The command "list" prints what the plugin can be sent. "fire" and "call" without
JSON send a sample. "again" repeats the last event or call, with the same JSON
or with another. The end of stdin quits.

With --dialect mcp, PATH is a program that is an MCP server.`,
		Example: `  patchbay plugin dev ./my-plugin
  patchbay plugin dev ./dotagent-plugin-notes --watch ./lib
  echo 'fire turn.input {"message":"hello"}' | patchbay plugin dev ./shout
  printf 'list\ncall plugin_words_count\n' | patchbay plugin dev ./words --json`,
		Annotations: exits(exit{exitOK, "you quit, and every command succeeded"},
			exit{exitFailed, "without a terminal: a command failed, or was not understood"}, exit{exitNotFound, "there is no plugin at PATH"}),
		Args: arguments("PATH"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPluginDev(cmd.Context(), args[0], watch) },
	}
	cmd.Flags().StringArrayVar(&watch, "watch", nil, "also restart the plugin when the file or directory `PATH` changes (may be repeated)")
	return cmd
}

func (a *app) runPluginDev(ctx context.Context, path string, watch []string) error {
	if err := a.checkPlaces(); err != nil {
		return err
	}
	d, err := a.newDevRun(ctx, path, watch)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // SIGHUP means that the terminal was closed
	defer stop()
	defer func() {
		if err := d.storage.Close(); err != nil {
			a.logger().Warn("cannot close the storage of plugins", "err", err)
		}
	}()
	if a.InTTY && a.OutTTY && !a.flags.json && !a.dumb() {
		return d.runOnTerminal(ctx)
	}
	return d.runOnLines(ctx)
}

// A devRun is one run of `plugin dev`.
type devRun struct {
	*app
	path    string // of the plugin, absolute
	dialect string // as given by --dialect; "": the first dialect that recognizes the plugin
	watch   []string
	storage *storage.Own
}

func (a *app) newDevRun(ctx context.Context, path string, watch []string) (*devRun, error) {
	only, err := a.onlyDialect()
	if err != nil {
		return nil, err
	}
	target, err := a.targetAt(path, only)
	if err != nil {
		return nil, err
	}
	if err := a.warnOfInstalled(ctx, path, target.Path, func(c pluginhost.Candidate, _ string) string { return program.Quote(c.Path) }); err != nil {
		return nil, err
	}
	a.warnTakenFor(target)
	absolute, err := filepath.Abs(a.path(path))
	if err != nil {
		return nil, err
	}
	d := &devRun{app: a, path: absolute, dialect: only, storage: storage.NewOwn(a.getenv, a.path(a.flags.config), a.logger())}
	for _, w := range watch {
		if _, err := os.Stat(a.path(w)); err != nil {
			return nil, usage("name a file or directory that exists", "--watch: %w", err)
		}
		w, err := filepath.Abs(a.path(w))
		if err != nil {
			return nil, err
		}
		d.watch = append(d.watch, w)
	}
	return d, nil
}

// start starts the session. It watches the configuration like the plugin's own files.
func (d *devRun) start(ctx context.Context, emit func(plugindev.Event)) (*plugindev.Session, error) {
	watch := d.watch
	if dirs, err := d.configDirs(); err == nil {
		watch = append(watch, dirs.ConfigFile, dirs.SecretsFile)
	}
	if root, err := d.projectRoot(); err == nil {
		watch = append(watch, filepath.Join(root, filepath.FromSlash(config.ProjectFile)))
	}
	return plugindev.Start(ctx, plugindev.Options{Path: d.path, Watch: watch, Open: d.open, Emit: emit, Verbose: d.flags.verbose})
}

// open opens a host with only this plugin. The plugin is not checked against patchbay.lock, because
// its author changes it all the time.
func (d *devRun) open(ctx context.Context, log *slog.Logger, notify func(pluginhost.Notification)) (*pluginhost.Host, error) {
	opts := d.options(nil)
	opts.Logger, opts.OnNotification = log, notify
	opts.Storage = func(plugin string, quota dialect.StorageQuota) dialect.Storage {
		return d.storage.Plugin(plugin, storage.Quota(quota))
	}
	if d.dialect == "mcp" {
		return d.openServer(ctx, opts)
	}
	target, err := d.targetAt(d.path, d.dialect) // again, because its author may have renamed it
	if err != nil {
		return nil, err
	}
	opts.NoSearch, opts.Paths, opts.Exempt = true, []string{target.Path}, []string{target.Path}
	return d.app.open(ctx, opts)
}

// openServer opens an MCP server as [[mcp]] in the configuration would.
func (d *devRun) openServer(ctx context.Context, opts *pluginhost.Options) (*pluginhost.Host, error) {
	target, err := d.targetAt(d.path, d.dialect)
	if err != nil {
		return nil, err
	}
	dirs, err := d.configDirs()
	if err != nil {
		return nil, err
	}
	files, err := pluginhost.ReadFiles(dirs)
	if err != nil {
		return nil, err
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, trimExt(target.Name))
	own := *files.Config
	own.MCP = []config.MCP{{Name: name, Command: target.Command, Prefix: name + "_"}}
	opts.Files = &pluginhost.Files{Config: &own, Secrets: files.Secrets}
	return d.app.open(ctx, opts)
}

// runOnLines reads commands from stdin and prints each event as a line or a block.
func (d *devRun) runOnLines(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := d.start(ctx, func(e plugindev.Event) {
		d.printEvent(e)
		if d.out.err != nil { // the reader of the output is gone
			cancel()
		}
	})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	failed, all := d.runCommands(ctx, s)
	switch {
	case ctx.Err() != nil && d.out.err == nil:
		return &problem{kind: kindInterrupted, err: errors.New("interrupted")}
	case failed > 0:
		return alreadyPrinted(kindFailed, "", "%d of %s failed", failed, render.Count(all, "command"))
	}
	return nil
}

// printEvent prints an event as JSON or as text.
func (d *devRun) printEvent(e plugindev.Event) {
	if !d.flags.json {
		d.printf("%s\n", strings.Join(plugindev.Lines(e, d.screen()), "\n"))
		return
	}
	raw, err := encodeJSON(e)
	if err != nil {
		fmt.Fprintf(d.Err, "error: %v\n", err)
		return
	}
	d.printf("%s\n", raw)
}

// runCommands runs the commands of stdin until quit or the end of stdin.
func (d *devRun) runCommands(ctx context.Context, s *plugindev.Session) (failed, all int) {
	lines := d.commandLines(ctx)
	for {
		select {
		case <-ctx.Done():
			return failed, all
		case line, more := <-lines:
			if !more {
				return failed, all
			}
			c, err := plugindev.Parse(line)
			switch {
			case err != nil:
				s.Refuse(err)
			case c.Verb == "":
				continue
			case c.Verb == "quit":
				return failed, all
			default:
				err = s.Do(ctx, c)
			}
			if all++; err != nil {
				failed++
			}
		}
	}
}

// commandLines returns the lines of stdin. The reading goroutine may outlive the command if no more
// input comes; it ends with the process.
func (d *devRun) commandLines(ctx context.Context) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		if d.In == nil {
			return
		}
		scanner := bufio.NewScanner(d.In)
		scanner.Buffer(nil, maxInput)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		if err := scanner.Err(); err != nil {
			d.logger().Warn("cannot read more from stdin", "err", err)
		}
	}()
	return lines
}

// devName returns the name that the status line shows while the plugin is not ready.
func devName(path string) string { return cmp.Or(filepath.Base(path), path) }
