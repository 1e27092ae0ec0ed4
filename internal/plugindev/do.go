package plugindev

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Command is a command for the plugin.
type Command struct {
	Verb    string          // fire, call, again, list, restart, quit; "": nothing to do
	Name    string          // of the point, tool or method
	Payload json.RawMessage // nil: a sample
}

// verbs are the commands; docs/plugin-dev.md describes them.
var verbs = []string{"fire", "call", "again", "list", "restart", "quit"}

// ErrBadCommand is wrapped by the error of a line that is not a command.
var ErrBadCommand = errors.New("not a command")

// Parse reads a line such as "fire turn.input {}". An empty line, and one that begins with #, is a
// Command without a verb.
func Parse(line string) (Command, error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return Command{}, nil
	}
	verb, rest, _ := strings.Cut(line, " ")
	c, rest := Command{Verb: verb}, strings.TrimSpace(rest)
	switch verb {
	case "fire", "call":
		c.Name, rest, _ = strings.Cut(rest, " ")
		if c.Name == "" {
			return c, dialect.WithFix(fmt.Errorf("%w: %s needs a name", ErrBadCommand, verb), "`list` lists what the plugin can be sent")
		}
	case "again", "restart", "list", "quit":
	default:
		return c, dialect.WithFix(fmt.Errorf("%w: %q", ErrBadCommand, verb), cmp.Or(nearest.Suggest(verb, verbs), "the commands are "+strings.Join(verbs, ", ")))
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return c, nil
	}
	if c.Verb == "restart" || c.Verb == "list" || c.Verb == "quit" {
		return c, fmt.Errorf("%w: %s takes no arguments", ErrBadCommand, c.Verb)
	}
	if _, err := rawjson.Parse([]byte(rest)); err != nil {
		return c, dialect.WithFix(fmt.Errorf("the payload is not a JSON object: %w", err), `write it on one line, as in {"message":"hello"}`)
	}
	c.Payload = json.RawMessage(rest)
	return c, nil
}

// Do runs a command and returns when it is over. Events report the result. It returns an error if
// the command is invalid, the plugin does not work, or the call failed.
func (s *Session) Do(ctx context.Context, c Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.do(ctx, c)
	if ctx.Err() != nil {
		return ctx.Err() // that is why it failed
	}
	if _, told := errors.AsType[*reported](err); err != nil && !told {
		s.Refuse(err)
	}
	return err
}

// Refuse reports the error of a command that was not run.
func (s *Session) Refuse(err error) {
	text, fix := fixes.Split(err)
	s.emit(Event{Event: Failure, Error: text, Fix: fix})
}

// reported is the error of a call that failed; its event has reported it.
type reported struct{ error }

func (s *Session) do(ctx context.Context, c Command) error {
	if c.Verb == "again" {
		if s.last == nil {
			return dialect.WithFix(errors.New("nothing was sent yet"), "send something with fire or call")
		}
		again := *s.last
		if c.Payload != nil {
			again.Payload = c.Payload
		}
		c = again
	}
	switch c.Verb {
	case "":
		return nil
	case "restart":
		s.reload(ctx, atRestart)
		return s.broken()
	}
	s.reloadChangedLocked(ctx)
	switch c.Verb {
	case "list":
		if err := s.broken(); err != nil {
			return err
		}
		s.emit(Event{Event: Targets, List: s.targets()})
		return nil
	case "fire":
		return s.fire(ctx, c)
	case "call":
		return s.call(ctx, c)
	}
	return nil
}

// broken returns the error of a plugin that does not work.
func (s *Session) broken() error {
	if s.plugin != nil {
		return nil
	}
	return dialect.WithFix(errors.New("the plugin does not work"), "correct it: it is started again as soon as its files change")
}

// find completes a command: the full name of its target, and a sample if it has no payload. It
// reports whether the payload is a sample.
func (s *Session) find(c *Command) (sample bool, err error) {
	if err := s.broken(); err != nil {
		return false, err
	}
	var names []string
	for _, t := range s.targets() {
		if t.Verb != c.Verb {
			continue
		}
		names = append(names, t.Name)
		if t.Name == c.Name || c.Verb == "call" && strings.HasSuffix(t.Name, "_"+c.Name) {
			c.Name = t.Name
			if sample = c.Payload == nil; sample {
				c.Payload = t.Sample
			}
			return sample, nil
		}
	}
	what := map[string]string{"fire": "has no hook at", "call": "has no tool or method"}[c.Verb]
	fix := "it has none"
	if len(names) > 0 {
		fix = cmp.Or(nearest.Suggest(c.Name, names), "it has "+strings.Join(slices.Compact(names), ", "))
	}
	return false, dialect.WithFix(fmt.Errorf("the plugin %s %q", what, c.Name), fix)
}

// fire sends an event.
func (s *Session) fire(ctx context.Context, c Command) (err error) {
	e := Event{Event: Fired}
	if e.Sample, err = s.find(&c); err != nil {
		// An event that the plugin does not hook is sent too: the trace says that no plugin was
		// called.
		if _, known := hook.Point(c.Name).Spec(); !known || s.plugin == nil || c.Payload == nil {
			return err
		}
	}
	s.last = &c
	e.Target, e.Payload = c.Name, c.Payload
	began := time.Now()
	var out *hook.Outcome
	s.during(ctx, func(ctx context.Context) { out, err = s.host.Fire(ctx, hook.Point(c.Name), c.Payload) })
	e.Duration = time.Since(began)
	if out != nil {
		trace := out.Trace()
		e.Trace = &trace
		if err == nil {
			err = stepError(out)
		}
	}
	return s.reportResult(e, err)
}

// stepError returns the failure of a plugin that did not end the event.
func stepError(out *hook.Outcome) error {
	for i := range out.Steps {
		if out.Steps[i].Err != nil {
			return out.Steps[i].Err
		}
	}
	return nil
}

// call calls a tool or a method.
func (s *Session) call(ctx context.Context, c Command) (err error) {
	e := Event{Event: Called}
	if e.Sample, err = s.find(&c); err != nil {
		return err
	}
	s.last = &c
	e.Target, e.Payload = c.Name, c.Payload
	began := time.Now()
	s.during(ctx, func(ctx context.Context) {
		if slices.Contains(s.plugin.Methods, c.Name) && !slices.Contains(s.plugin.Tools, c.Name) {
			e.Answer, err = s.host.CallMethod(ctx, s.plugin.Dialect+":"+s.plugin.Name, c.Name, c.Payload)
			return
		}
		e.Result, err = s.host.CallTool(ctx, c.Name, c.Payload)
	})
	e.Duration = time.Since(began)
	if err == nil && e.Result != nil && !e.Result.Success {
		err = errors.New(e.Result.Error)
	}
	return s.reportResult(e, err)
}

// reportResult reports the result of a call.
func (s *Session) reportResult(e Event, err error) error {
	if err != nil {
		e.Error = err.Error()
		err = &reported{err}
	}
	s.emit(e)
	return err
}

// targets returns what can be sent to the plugin. The caller holds mu.
func (s *Session) targets() []Target {
	if s.plugin == nil {
		return nil
	}
	var list []Target
	for _, w := range s.plugin.Wiring {
		list = append(list, Target{Verb: "fire", Name: string(w.Point), Hook: w.Hook, For: w.For, Sample: payload(w.Point, w.For)})
	}
	for _, t := range s.host.Tools() {
		list = append(list, Target{Verb: "call", Name: t.Name, Sample: arguments(t.Parameters)})
	}
	for _, m := range s.plugin.Methods {
		list = append(list, Target{Verb: "call", Name: m, Sample: json.RawMessage(`{}`)})
	}
	return list
}

// Last returns the last command that was sent; false if there is none.
func (s *Session) Last() (Command, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return Command{}, false
	}
	return *s.last, true
}
