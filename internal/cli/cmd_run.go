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
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// What a shell exits with for a program that it cannot run.
const (
	exitNotExecutable = 126
	exitNoProgram     = 127
)

func newRunCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "run [--] PROGRAM [ARG…]",
		Short:   "Run any program through the command plugins",
		GroupID: groupEvents,
		Long: `Run a program through four points. Plugins may rewrite its arguments
(command.validate, command.before), answer instead of it, transform its output
(command.after), and are told when it has ended (command.done).

The program gets your terminal, your signals and your stdin. Its output is shown
as it comes, unless a plugin wants to transform it.`,
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
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runRun(cmd.Context(), args) },
	}
	cmd.Flags().SetInterspersed(false) // the program's flags are its own
	return cmd
}

func (a *app) runRun(ctx context.Context, args []string) error {
	need := needPoints(hook.CommandValidate, hook.CommandBefore, hook.CommandAfter, hook.CommandDone)
	return a.withHost(ctx, need, func(host *pluginhost.Host) error {
		group := proc.NewGroup(a.logger())
		defer group.Close()
		p := &wrapped{app: a, path: args[0], group: group}
		err := (&command.Pipeline{Host: host, Fired: a.warnOfFlags}).Run(ctx, command.Command{Name: filepath.Base(args[0]), Args: args[1:]}, p)
		if err == nil && p.code != 0 {
			return &programExit{code: p.code}
		}
		return err
	})
}

// warnOfFlags tells of plugins that set flags: a wrapped program has its flags among its arguments,
// and none of ours.
func (a *app) warnOfFlags(out *hook.Outcome) {
	for i := range out.Steps {
		s := &out.Steps[i]
		for _, c := range s.Diff() {
			if strings.HasPrefix(c.Path, "/flags") && out.Point != hook.CommandAfter {
				a.logger().Warn("the plugin sets flags, which have no effect under patchbay run; it must change args instead",
					"plugin", s.Plugin, "flag", strings.TrimPrefix(strings.TrimPrefix(c.Path, "/flags"), "/"), "hook", s.Hook)
			}
		}
	}
}

// programExit is the exit of a program that ran, or the one a shell gives for a program that could
// not be run: its code is ours.
type programExit struct {
	code int
	err  error // why it could not be run; nil where it ran, and said what there was to say
}

func (e *programExit) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("exit code %d", e.code)
}

func (e *programExit) Unwrap() error { return e.err }

// wrapped is a program run in the command's place.
type wrapped struct {
	*app
	path  string // as the user named it
	group *proc.Group
	code  int
	tie   func()      // lets the end of the command's context end the stages
	untie func() bool // undoes it; false: the context has ended
	over  func() bool // whether the context has ended
}

// programResult is a program's result, as plugins see it.
type programResult struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// Parse leaves the arguments alone. A signal ends the stages before and after the program. While
// the program runs, a signal is its affair: what it makes of Ctrl-C counts, and the stages after it
// still run.
func (w *wrapped) Parse(ctx context.Context, c command.Command, then func(context.Context, command.Command) error) error {
	stages, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	w.over = func() bool { return ctx.Err() != nil }
	w.tie = func() { w.untie = context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) }) }
	w.tie()
	defer func() { w.untie() }()
	return then(stages, c)
}

// Execute runs the program on the streams of this one, or with its output captured.
func (w *wrapped) Execute(ctx context.Context, c command.Command, capture bool) (json.RawMessage, error) {
	signals, stop := w.signals() // before the stages are let go, so that no signal is lost between
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
		return nil, w.noProgram(err)
	}
	w.code = exit.ShellCode()
	if !capture {
		return json.Marshal(programResult{ExitCode: w.code})
	}
	return json.Marshal(programResult{streams.out.captured.String(), streams.err.captured.String(), w.code})
}

// program is the path the user gave, unless a plugin renamed the command.
func (w *wrapped) program(c command.Command) string {
	if c.Name == filepath.Base(w.path) {
		return w.path
	}
	return c.Name
}

// noProgram turns the error of a program that did not start into a shell's exit code.
func (w *wrapped) noProgram(err error) error {
	switch {
	case !is[*program.StartError](err):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return &programExit{exitNoProgram, err}
	}
	return &programExit{exitNotExecutable, err}
}

// Show prints a result that was captured, or that a plugin brought. A result of another shape than
// a program's is text for stdout.
func (w *wrapped) Show(c command.Command) error {
	var result programResult
	if err := json.Unmarshal(c.Result, &result); err != nil {
		var text string
		if json.Unmarshal(c.Result, &text) != nil {
			text = string(c.Result) + "\n"
		}
		result = programResult{Stdout: text}
	}
	w.code = result.ExitCode
	if _, err := fmt.Fprint(w.out, result.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprint(w.Err, result.Stderr)
	return err
}

// isFile tells a stream that a program can be given as it is.
func isFile(v any) *os.File { f, _ := v.(*os.File); return f }
