package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/command"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The exit codes of a shell for a program that it cannot run.
const (
	exitNotExecutable = 126
	exitNoProgram     = 127
)

func newRunCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "run [--] PROGRAM [ARG…]",
		Short:   "Run any program; plugins can check and change the command",
		GroupID: groupEvents,
		Long: `Run a program, and call plugins at four points. They may rewrite its arguments
(command.validate, command.before), answer in its place, and transform its
output (command.after). They are told when it has ended (command.done).

The program gets your terminal, your signals and your stdin. Its output is shown
as it comes, unless a plugin wants to transform it. A terminal shows which
plugins the command waits for.

Flags of Patchbay stand before PROGRAM; those after it are the program's.`,
		Example: `  patchbay run -- git commit -m 'tidy up'
  patchbay run make test`,
		Annotations: exits(exit{exitOK, "the program succeeded; any other exit code of the program is passed on"},
			exit{exitFailed, "a plugin failed and ended the command"},
			exit{exitRefused, "a plugin refused the command"},
			exit{exitNotExecutable, "the program cannot be executed"}, exit{exitNoProgram, "there is no such program"}),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("usage: "+cmd.UseLine(), "%s: missing PROGRAM", cmd.CommandPath())
			}
			if args[0] == "" {
				return usage("name a program; a variable of the shell may be empty", "%s: PROGRAM is empty", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runRun(cmd.Context(), args) },
	}
	passesWordsOn(cmd) // flags after PROGRAM belong to the program
	return cmd
}

func (a *app) runRun(ctx context.Context, args []string) error {
	need := needPoints(hook.CommandValidate, hook.CommandBefore, hook.CommandAfter, hook.CommandDone)
	return a.withHost(ctx, need, func(host *pluginhost.Host) error {
		group := proc.NewGroup(a.logger())
		defer group.Close()
		p := &wrapped{app: a, path: args[0], group: group}
		err := (&command.Pipeline{Host: waitedHost{host, a}, Fired: p.see}).Run(ctx, command.Command{Name: filepath.Base(args[0]), Args: args[1:]}, p)
		if err == nil && p.code != 0 {
			return &programExit{code: p.code}
		}
		return err
	})
}

// A waitedHost is a host that shows which plugins an event waits for. No event is fired while the
// program has the terminal.
type waitedHost struct {
	*pluginhost.Host
	app *app
}

// Fire fires an event.
func (h waitedHost) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	ctx, end := h.app.waitingAt(ctx, point)
	defer end()
	return h.Host.Fire(ctx, point, payload)
}

// programExit is the exit code of a program that ran, or the code of a shell for a program that
// could not run. It becomes our exit code.
type programExit struct {
	code int
	err  error // why it could not run; nil if it ran and printed its own messages
}

func (e *programExit) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("exit code %d", e.code)
}

func (e *programExit) Unwrap() error { return e.err }

// wrapped is the program of `patchbay run`, as a [command.Program].
type wrapped struct {
	*app
	path  string // as the user named it
	group *proc.Group
	code  int
	ran   *programResult // the program's own result; nil: the program did not run
	told  programResult  // that result as plugins see it: in JSON, bytes that are not UTF-8 are replaced
	tie   func()         // from now on, the end of the command's context ends the stages
	untie func() bool    // undoes tie; false: the context has ended
	over  func() bool    // reports whether the context has ended

	renamer string // the plugin that last changed the command's name; "": none did
}

// programResult is the result of a program, as plugins see it.
type programResult struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// see notes which plugin changed the name of the command. It warns of plugins that set flags: those
// of a wrapped program are among its arguments, so such a change has no effect.
func (w *wrapped) see(out *hook.Outcome) {
	if out.Point == hook.CommandAfter {
		return
	}
	for i := range out.Steps {
		s := &out.Steps[i]
		for _, c := range s.Diff() {
			if c.Path == "/command" {
				w.renamer = s.Plugin
			}
			if flag, ok := strings.CutPrefix(c.Path, "/flags"); ok {
				w.logger().Warn("the plugin sets flags, which have no effect under patchbay run; it must change args instead",
					"plugin", s.Plugin, "flag", strings.TrimPrefix(flag, "/"), "hook", s.Hook)
			}
		}
	}
}

// Parse does not change the arguments. A signal ends the stages before and after the program. While
// the program runs, signals go to the program, which decides what Ctrl-C means, and the stages
// after it still run.
func (w *wrapped) Parse(ctx context.Context, c command.Command, then func(context.Context, command.Command) error) error {
	stages, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	w.over = func() bool { return ctx.Err() != nil }
	w.tie = func() { w.untie = context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) }) }
	w.tie()
	defer func() { w.untie() }()
	return then(stages, c)
}

// Execute runs the program on our streams, or captures its output.
func (w *wrapped) Execute(ctx context.Context, c command.Command, capture bool) (json.RawMessage, error) {
	signals, stop := w.signals() // before untie, so that no signal is lost
	defer stop()
	if !w.untie() {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	defer w.end.yield()()
	result, err := w.execute(ctx, c, capture, signals)
	if !w.over() {
		w.tie()
	}
	return result, err
}

func (w *wrapped) execute(ctx context.Context, c command.Command, capture bool, signals <-chan os.Signal) (json.RawMessage, error) {
	streams, err := w.streams(capture)
	if err != nil {
		return nil, err
	}
	exit, err := w.group.Foreground(ctx, proc.Spec{Path: w.program(c), Args: c.Args, Dir: w.dir(), Env: w.Environ},
		proc.Foreground{Stdin: streams.in.file, Stdout: streams.out.file, Stderr: streams.err.file, Signals: signals})
	if closeErr := streams.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, w.noProgram(c, err)
	}
	w.code = exit.ShellCode()
	w.ran = &programResult{ExitCode: w.code}
	if capture {
		w.ran.Stdout, w.ran.Stderr = streams.out.captured.String(), streams.err.captured.String()
	}
	return w.tell()
}

// tell returns the program's result as JSON for plugins, and stores in told the result that they
// read from this JSON.
func (w *wrapped) tell() (json.RawMessage, error) {
	text, err := rawjson.Marshal(w.ran)
	if err != nil {
		return nil, err
	}
	return text, json.Unmarshal(text, &w.told)
}

// program returns the path that the user gave, unless a plugin renamed the command.
func (w *wrapped) program(c command.Command) string {
	if c.Name == filepath.Base(w.path) {
		return w.path
	}
	return c.Name
}

// noProgram turns the error of a program that did not start into a shell's exit code. The program
// is no plugin, so the fix does not speak of one. If a plugin has named the program, the error says
// so.
func (w *wrapped) noProgram(c command.Command, err error) error {
	start, ok := errors.AsType[*program.StartError](err)
	if !ok {
		return err
	}
	fix := strings.NewReplacer("reinstall the plugin", "check the path, or reinstall the program", "the plugin", "the program").Replace(start.Fix)
	err = &program.StartError{Path: start.Path, Why: start.Why, Err: start.Err}
	if w.program(c) != w.path {
		err = fmt.Errorf("plugin %s replaced %s: %w", w.renamer, w.path, err)
	}
	err = &problem{err: err, fix: fix}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &programExit{exitNoProgram, err}
	}
	return &programExit{exitNotExecutable, err}
}

// Show prints a captured result, or the result of a plugin.
func (w *wrapped) Show(c command.Command) error {
	result, err := w.result(c)
	if err != nil {
		return err
	}
	w.code = result.ExitCode
	if _, err := fmt.Fprint(w.out, result.Stdout); err != nil {
		return err
	}
	_, err = fmt.Fprint(w.Err, result.Stderr)
	return err
}

// result returns the result as plugins left it. Fields that they left out are those of the program,
// so that no plugin turns a failure into a success unless it says so. A result that is a string
// becomes stdout. Any other value that is not an object of this form is an error if the program has
// run. If a plugin answered instead of the program, the value is shown as text.
func (w *wrapped) result(c command.Command) (programResult, error) {
	result := w.told
	var text string
	switch whole := result; {
	case json.Unmarshal(c.Result, &text) == nil && string(c.Result) != "null":
		result.Stdout = text
	case json.Unmarshal(command.Exact(c.Result, "stdout", "stderr", "exit_code"), &whole) == nil && string(c.Result) != "null":
		result = whole
	case w.ran != nil:
		return result, fmt.Errorf("%s: plugins left a result that is not that of a program: %q", c.Name, excerpt.Of(string(c.Result), mostCited))
	default:
		result.Stdout = string(c.Result) + "\n"
	}
	return w.asPrinted(result), nil
}

// asPrinted puts the program's own bytes in the place of text that no plugin changed.
func (w *wrapped) asPrinted(r programResult) programResult {
	if w.ran == nil {
		return r
	}
	if r.Stdout == w.told.Stdout {
		r.Stdout = w.ran.Stdout
	}
	if r.Stderr == w.told.Stderr {
		r.Stderr = w.ran.Stderr
	}
	return r
}

// mostCited is how much of a faulty result an error repeats.
const mostCited = 200

// asFile returns a stream as a file, or nil if it is not a file.
func asFile(v any) *os.File { f, _ := v.(*os.File); return f }
