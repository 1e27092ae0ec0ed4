package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Host is what a pipeline needs of Patchbay.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
	Wants(point hook.Point, payload any) bool
}

// A Command is one run of a command. The payloads of the four points contain it.
type Command struct {
	Name   string            // e.g. "todo.add", or a program's base name
	Args   []string          // the words that are not flags
	Flags  map[string]string // by name, as text
	Result json.RawMessage   // null as long as there is none
	Time   time.Time         // when the command began
}

// A payload is the event of a command. Its fields are those of the points.
type payload struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Flags     map[string]string `json:"flags"`
	Result    json.RawMessage   `json:"result"`
	Timestamp string            `json:"timestamp"`
	Error     string            `json:"error,omitempty"` // why the command failed, and at command.done also why it was refused
}

// A Pipeline takes commands through the plugins of a host.
type Pipeline struct {
	Host  Host
	Now   func() time.Time    // nil: time.Now
	Fired func(*hook.Outcome) // called with the outcome of each stage but command.done; may be nil
}

// A Program provides the steps of a run that depend on the program.
type Program interface {
	// Parse reads the arguments as plugins left them after command.validate, and passes the parsed
	// command to the function then.
	Parse(ctx context.Context, c Command, then func(context.Context, Command) error) error
	// Execute runs the command as plugins left it after command.before. If capture is set, it
	// returns the output as the result and does not show it, even if the command fails. It is not
	// called if a plugin has answered instead of the command.
	Execute(ctx context.Context, c Command, capture bool) (result json.RawMessage, err error)
	// Show shows a result that Execute captured or that a plugin returned, as plugins left it.
	Show(c Command) error
}

// A Refused error says that a plugin refused a command.
type Refused struct {
	Command string
	Point   hook.Point
	Plugin  string
	Reason  string
	Suggest string
	Failure *hook.Error // the plugin did not refuse, but failed; nil: it refused
}

// Unwrap returns the failure, if there is one.
func (r *Refused) Unwrap() error {
	if r.Failure == nil {
		return nil
	}
	return r.Failure
}

// Error names the plugin and its reason.
func (r *Refused) Error() string {
	switch {
	case r.Failure != nil && r.Point == hook.CommandAfter:
		return fmt.Sprintf("%s has run, but its output is withheld, because a plugin failed: %s", r.Command, r.Failure.Error())
	case r.Failure != nil:
		return fmt.Sprintf("%s was refused, because a plugin failed: %s", r.Command, r.Failure.Error())
	}
	text := fmt.Sprintf("%s was refused by plugin %s at %s", r.Command, r.Plugin, r.Point)
	if r.Point == hook.CommandAfter {
		text = fmt.Sprintf("%s has run, but plugin %s refused its output at %s", r.Command, r.Plugin, r.Point)
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// Run takes one command through its stages. Whatever happens, it fires command.done before it
// returns. If a plugin refuses the command, or stops it without a result before it ran, the error
// is a [*Refused].
func (p *Pipeline) Run(ctx context.Context, c Command, program Program) error {
	if c.Time.IsZero() {
		c.Time = p.now()
	}
	r := &run{pipeline: p, program: program, command: c}
	err := r.stages(ctx)
	done := r.command.payload()
	if err != nil {
		done.Error = err.Error()
	}
	// Plugins cannot change anything here, and a command that was interrupted has still run.
	if _, doneErr := p.Host.Fire(context.WithoutCancel(ctx), hook.CommandDone, done); err == nil {
		err = doneErr
	}
	return err
}

// A run is one command in progress.
type run struct {
	pipeline *Pipeline
	program  Program
	command  Command // as the last stage left it
	failure  error   // of the command; nil: it has not failed, or has not run
}

// stages runs the command up to and including its output.
func (r *run) stages(ctx context.Context) error {
	answered, err := r.stage(ctx, hook.CommandValidate)
	if err != nil {
		return err
	}
	if answered {
		return r.program.Show(r.command)
	}
	return r.program.Parse(ctx, r.command, r.parsed)
}

// parsed continues with a command whose arguments are parsed.
func (r *run) parsed(ctx context.Context, c Command) error {
	c.Time, c.Result = r.command.Time, r.command.Result
	r.command = c
	answered, err := r.stage(ctx, hook.CommandBefore)
	if err != nil {
		return err
	}
	if answered {
		return r.program.Show(r.command)
	}
	capture := r.pipeline.Host.Wants(hook.CommandAfter, r.command.payload())
	r.command.Result, r.failure = r.program.Execute(ctx, r.command, capture)
	if r.failure != nil && len(r.command.Result) == 0 { // it has printed nothing that plugins have to see
		return r.failure
	}
	switch err := r.finish(ctx, capture); {
	case r.failure == nil:
		return err
	case err == nil:
		return r.failure
	default:
		return errors.Join(r.failure, err)
	}
}

// finish takes the result of a command that has run through the last stage, and shows it if it was
// captured.
func (r *run) finish(ctx context.Context, capture bool) error {
	if _, err := r.stage(ctx, hook.CommandAfter); err != nil || !capture {
		return err
	}
	return r.program.Show(r.command)
}

// stage fires one point and reads the command as plugins have changed it. answered reports whether
// a plugin stopped the command and returned a result.
func (r *run) stage(ctx context.Context, point hook.Point) (answered bool, err error) {
	c, name := &r.command, r.command.Name
	event := c.payload()
	if r.failure != nil {
		event.Error = r.failure.Error()
	}
	out, err := r.pipeline.Host.Fire(ctx, point, event)
	if out != nil && r.pipeline.Fired != nil {
		r.pipeline.Fired(out)
	}
	if err != nil {
		return false, err
	}
	if err := c.read(out.Payload); err != nil {
		return false, fmt.Errorf("%s: %s: plugins left a payload that is not a command: %.200q", c.Name, point, out.Payload)
	}
	if point != hook.CommandAfter {
		if err := passable(c, out); err != nil {
			return false, err
		}
	} else {
		c.Name = name // the command has run: the plugins at command.done get its real name
	}
	stopped := out.Verdict == hook.Stop && point != hook.CommandAfter
	if out.Verdict == hook.Deny || stopped && string(c.Result) == "null" {
		return false, &Refused{Command: c.Name, Point: point, Plugin: out.By, Reason: out.Reason, Suggest: out.Suggest, Failure: out.Failure()}
	}
	return stopped, nil
}

// passable returns an error if a plugin has put a NUL byte into the command or into an argument.
// The system would refuse to start any program with it, without naming a plugin.
func passable(c *Command, out *hook.Outcome) error {
	words := append([]string{c.Name}, c.Args...)
	at := slices.IndexFunc(words, func(word string) bool { return strings.ContainsRune(word, 0) })
	if at < 0 {
		return nil
	}
	for i := range slices.Backward(out.Steps) {
		s := &out.Steps[i]
		for _, change := range s.Diff() {
			if bytes.Contains(change.New, []byte(`\u0000`)) {
				return &hook.Error{Plugin: s.Plugin, Dialect: s.Dialect, Hook: s.Hook, Point: out.Point, Kind: hook.Unknown, Err: nulError(words[at])}
			}
		}
	}
	return nil
}

// A nulError is a word of a command line that has a NUL byte.
type nulError string

func (e nulError) Error() string {
	return fmt.Sprintf("it put a NUL byte into the command line, and no program can get one: %.200q; %s", string(e), e.Fix())
}

// Fix returns what the user can do about it.
func (nulError) Fix() string { return "tell its author, or disable the plugin" }

func (p *Pipeline) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

func (c *Command) payload() payload {
	out := payload{Command: c.Name, Args: c.Args, Flags: c.Flags, Result: c.Result,
		Timestamp: c.Time.UTC().Format(time.RFC3339)}
	if out.Args == nil {
		out.Args = []string{}
	}
	if out.Flags == nil {
		out.Flags = map[string]string{}
	}
	if len(out.Result) == 0 {
		out.Result = json.RawMessage("null")
	}
	return out
}

// Exact removes from an object each field whose name is not exactly one of names. It returns a
// value that is not an object unchanged. encoding/json ignores case: it would read the field Args,
// which no plugin has checked, as args.
func Exact(value json.RawMessage, names ...string) json.RawMessage {
	o, err := rawjson.Parse(value)
	if err != nil {
		return value
	}
	return slices.DeleteFunc(o, func(f rawjson.Field) bool { return !slices.Contains(names, f.Name) }).JSON()
}

// read applies the changes of plugins, which may change everything but the time.
func (c *Command) read(raw json.RawMessage) error {
	var in payload
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for name, value := range in.Flags {
		in.Flags[name] = restored(c.Flags[name], value)
	}
	c.Name, c.Args, c.Flags, c.Result = restored(c.Name, in.Command), restoredArgs(c.Args, in.Args), in.Flags, in.Result
	return nil
}
