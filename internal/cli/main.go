package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
	"github.com/patchbay-dev/patchbay/internal/recording"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// IO holds the streams, the environment and the terminal of one command line.
type IO struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string // "NAME=value"
	Dir     string   // the working directory; empty: the process's own

	InTTY  bool // whether In is a terminal
	OutTTY bool // whether Out is a terminal
	ErrTTY bool // whether Err is a terminal
	Width  int  // columns of the terminal of Out; 0: no terminal
	Height int  // lines of that terminal; 0: no terminal

	ErrWidth func() int // returns the present columns of the terminal of Err; nil or 0: no terminal
}

// System returns the IO of this process.
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
// Main cancels the command, stops the plugins, and returns soon after that, whatever the command
// waits for.
func Main(ctx context.Context, args []string, std IO) int {
	a := &app{IO: std, out: &output{w: std.Out}, end: &watchdog{within: endWithin}}
	return a.end.run(ctx, std.Err, func() int { return a.main(ctx, args) })
}

// main runs the command line under the watchdog.
func (a *app) main(ctx context.Context, args []string) int {
	root := newRootCommand(a)
	a.flags.json = asksForJSON(ownWords(root, args))
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

// An app is one command line in progress.
type app struct {
	IO
	flags globalFlags
	out   *output   // writes to Out, and keeps its first error
	log   *logStyle // how the command logs; nil: as most commands do
	end   *watchdog

	live     *liveLine  // nil: stderr is not a terminal, or no line was drawn yet
	starting *startLine // names plugins that are slow to start; nil: stderr is not a terminal

	files          *pluginhost.Files   // what readFiles last read; nil: nothing
	plugins        *pluginlog.Store    // stores what plugins write to stderr; nil until it is first needed
	record         *recording.Recorder // set by `trace record`; nil: nothing is recorded
	reportsPlugins bool                // the result of the command lists the plugins that do not start
}

// globalFlags holds the flags that every command has.
type globalFlags struct {
	json     bool
	verbose  bool
	config   string
	dir      string
	dialects []string
}

// asksForJSON looks for --json before the flags are parsed, because errors of parsing are printed
// as JSON too.
func asksForJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// ownWords returns the words of a command line that may be flags of ours. The others belong to a
// plugin's command, or to the program of `patchbay run`.
func ownWords(root *cobra.Command, args []string) []string {
	if i := foreignWord(root, args); i >= 0 {
		if i+1 < len(args) && args[i+1] == "--json" { // before the plugin's command the flag is ours
			i++
		}
		return args[:i+1]
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.Annotations[flagsFirst] == "" {
		return args
	}
	if i := firstWord(root.PersistentFlags(), rest); i >= 0 { // these commands have no flags of their own with values
		return rest[:i]
	}
	return rest
}

// flagsFirst marks a command whose flags come before its first argument, and which passes on all
// words after that.
const flagsFirst = "flags first"

// passesWordsOn makes a command take its flags only before its first argument.
func passesWordsOn(cmd *cobra.Command) {
	cmd.Flags().SetInterspersed(false)
	cmd.DisableFlagsInUseLine = true // Cobra would put them at the end
	cmd.Annotations[flagsFirst] = "true"
}

// screen returns how results are drawn.
func (a *app) screen() render.Options {
	return render.Options{Color: a.OutTTY && a.colors(), Width: a.Width, Verbose: a.flags.verbose}
}

// errScreen returns how errors and the log are drawn.
func (a *app) errScreen() render.Options {
	o := render.Options{Color: a.ErrTTY && a.colors()}
	if a.ErrTTY && a.ErrWidth != nil {
		o.Width = a.ErrWidth()
	}
	return o
}

// colors reports whether the environment allows colours. NO_COLOR with any value forbids them, and
// so does TERM=dumb.
func (a *app) colors() bool {
	return a.getenv("NO_COLOR") == "" && !a.dumb()
}

// dumb reports whether the terminal understands no escape sequences. Then nothing is drawn over.
func (a *app) dumb() bool { return a.getenv("TERM") == "dumb" }

func (a *app) getenv(name string) string { return dialect.Env{Vars: a.Environ}.Get(name) }

// dir returns the directory in which the command works. A relative --dir is below Dir.
func (a *app) dir() string {
	if a.flags.dir == "" || filepath.IsAbs(a.flags.dir) || a.Dir == "" {
		return cmp.Or(a.flags.dir, a.Dir)
	}
	return filepath.Join(a.Dir, a.flags.dir)
}

// path returns a path of the command line. A relative one is below the directory in which the
// command works.
func (a *app) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.dir(), p)
}
