package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/charmbracelet/x/term"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
	"github.com/patchbay-dev/patchbay/internal/recording"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// IO is the world around one command line.
type IO struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string // "NAME=value"
	Dir     string   // the working directory; empty: the process's own

	InTTY  bool // whether a person types In
	OutTTY bool // whether a person reads Out
	ErrTTY bool // whether a person reads Err
	Width  int  // columns of the terminal behind Out; 0: none
	Height int  // its lines; 0: none

	ErrWidth func() int // the columns of the terminal behind Err, as they are now; nil or 0: none
}

// System is the IO of this process.
func System() IO {
	std := IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
		InTTY:  term.IsTerminal(os.Stdin.Fd()),
		OutTTY: term.IsTerminal(os.Stdout.Fd()),
		ErrTTY: term.IsTerminal(os.Stderr.Fd()),
	}
	if width, height, err := term.GetSize(os.Stdout.Fd()); err == nil {
		std.Width, std.Height = width, height
	}
	if std.ErrTTY {
		std.ErrWidth = func() int {
			width, _, err := term.GetSize(os.Stderr.Fd())
			if err != nil {
				return 0 // the terminal is gone
			}
			return width
		}
	}
	return std
}

// Main runs one command line, without the program's name, and returns the exit code. When ctx ends,
// what is under way is given up and plugins are stopped. It returns soon after that, whatever the
// command waits for.
func Main(ctx context.Context, args []string, std IO) int {
	a := &app{IO: std, out: &output{w: std.Out}, end: &watchdog{within: endWithin}}
	return a.end.run(ctx, std.Err, func() int { return a.main(ctx, args) })
}

// main runs the command line.
func (a *app) main(ctx context.Context, args []string) int {
	a.flags.json = asksForJSON(args)
	root := newRootCommand(a)
	if i := foreignWord(root, args); i >= 0 {
		return a.report(ctx, a.runForeign(ctx, root, args, i))
	}
	addCompletion(root)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	cmd, err := root.ExecuteContextC(ctx)
	if k, _ := classify(ctx, err); err != nil && k == kindUsage {
		err = asUsage(cmd, err)
	}
	return a.report(ctx, err)
}

// An app is one command line under way.
type app struct {
	IO
	flags globalFlags
	out   *output   // Out, with its first error kept
	log   *logStyle // nil: as most commands keep it
	end   *watchdog

	live     *liveLine  // nil: nobody watches, or nothing had to be said yet
	starting *startLine // names plugins that are slow to start; nil: nobody watches

	plugins        *pluginlog.Store    // what plugins say is kept there; nil until it is first needed
	record         *recording.Recorder // of `trace record`, whose command this is; nil: nothing is recorded
	reportsPlugins bool                // the command's result says which plugins do not start
}

// globalFlags are the flags that every command has.
type globalFlags struct {
	json     bool
	verbose  bool
	config   string
	dir      string
	dialects []string
}

// asksForJSON looks for --json before the flags are parsed: the error of a command line that does
// not parse has a form too.
func asksForJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// screen is how results are drawn.
func (a *app) screen() render.Options {
	return render.Options{Color: a.OutTTY && a.colors(), Width: a.Width, Verbose: a.flags.verbose}
}

// errScreen is how errors and the log are drawn.
func (a *app) errScreen() render.Options {
	o := render.Options{Color: a.ErrTTY && a.colors()}
	if a.ErrTTY && a.ErrWidth != nil {
		o.Width = a.ErrWidth()
	}
	return o
}

// colors tells whether the environment allows any: NO_COLOR, set to anything, forbids them, and so
// does a terminal that calls itself dumb.
func (a *app) colors() bool {
	return a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

func (a *app) getenv(name string) string { return dialect.Env{Vars: a.Environ}.Get(name) }

// dir is the directory the command works in: --dir counts from Dir.
func (a *app) dir() string {
	if a.flags.dir == "" || filepath.IsAbs(a.flags.dir) || a.Dir == "" {
		return cmp.Or(a.flags.dir, a.Dir)
	}
	return filepath.Join(a.Dir, a.flags.dir)
}

// path is a path from the command line, which counts from the directory the command works in.
func (a *app) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.dir(), p)
}
