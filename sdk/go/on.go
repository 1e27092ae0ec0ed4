package plugin

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// A handler is one function at one point.
type handler struct {
	call    func(ctx context.Context, event any) Verdict
	match   string // a pattern of tools or commands; "": all
	timeout time.Duration
}

// An Option limits or describes a handler, a tool, a method or a command.
type Option func(*options)

type options struct {
	only      string
	within    time.Duration
	schema    string
	argsHelp  string
	userStdin bool
}

// Only limits a handler to tools or commands that match a pattern: * matches any text, as in "git*"
// or "todo.*".
func Only(pattern string) Option { return func(o *options) { o.only = pattern } }

// Within limits how long a handler, a tool or a method may take: then its context ends. Manifests
// tell hosts how long handlers may take, if the dialect supports it.
func Within(d time.Duration) Option { return func(o *options) { o.within = d } }

// Schema sets the JSON Schema of the arguments of a tool or a method, in place of the one made from
// their type.
func Schema(schema string) Option { return func(o *options) { o.schema = schema } }

// ArgsHelp sets the line of help about a command's arguments, such as "[--json] WORD…".
func ArgsHelp(text string) Option { return func(o *options) { o.argsHelp = text } }

// UserStdin gives a command the user's stdin: the terminal, or piped input. Otherwise it is empty.
// Hosts that do not support this run the command with an empty stdin.
func UserStdin() Option { return func(o *options) { o.userStdin = true } }

// gather applies options, and refuses those that are not allowed.
func (p *Plugin) gather(what string, given []Option, allowed options) options {
	var o options
	for _, option := range given {
		option(&o)
	}
	if o.only != "" && allowed.only == "" || o.within != 0 && allowed.within == 0 || o.schema != "" && allowed.schema == "" ||
		o.argsHelp != "" && allowed.argsHelp == "" || o.userStdin && !allowed.userStdin {
		p.fault("%s has an option that has no effect there", what)
	}
	if o.within < 0 {
		p.fault("%s cannot take %s", what, o.within)
	}
	return o
}

// On adds a handler for a point. Several handlers of one point are called in the order of their
// definition, each with the event as the one before left it. After a verdict that ends the event,
// the others are not called.
func On[E any](p *Plugin, point Point[E], handle func(ctx context.Context, event *E) Verdict, with ...Option) {
	allowed := options{within: 1}
	if strings.HasPrefix(point.name, "tool.") || strings.HasPrefix(point.name, "command.") {
		allowed.only = "*"
	}
	o := p.gather(point.name, with, allowed)
	if _, err := path.Match(o.only, ""); err != nil {
		p.fault("%s: %q is not a pattern", point.name, o.only)
	}
	call := func(ctx context.Context, event any) Verdict { return handle(ctx, event.(*E)) }
	p.handlers[point.name] = append(p.handlers[point.name], handler{call: call, match: o.only, timeout: o.within})
}

// matches reports whether a pattern matches a tool or a command. * also matches dots and slashes.
func matches(pattern, subject string) bool {
	if pattern == "" || pattern == "*" {
		return true
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(subject))
	return ok && err == nil
}

// ask calls the handlers of a point with an event, whose subject is the name of a tool or a
// command. It returns the first verdict that ends the event; else Modify if a handler has changed
// it.
func (p *Plugin) ask(ctx context.Context, point string, event any, subject string) Verdict {
	n := nativeOf(point)
	verdict := NoOpinion()
	for i := range p.handlers[point] {
		h := &p.handlers[point][i]
		if !matches(h.match, subject) {
			continue
		}
		v := p.call(ctx, point, h, event)
		if err := v.fits(n); err != nil {
			return Fail(err)
		}
		switch v.kind {
		case kindNone:
		case kindContinue:
			if verdict.kind == kindNone {
				verdict = v
			}
		case kindModify:
			verdict = v
		default:
			return v
		}
	}
	return verdict
}

// call calls one handler. A panic is a failure: its place is logged.
func (p *Plugin) call(ctx context.Context, point string, h *handler, event any) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = Fail(p.panicked(point, r))
		}
	}()
	if h.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.timeout)
		defer cancel()
	}
	return h.call(ctx, event)
}

// panicked logs a panic and returns it as an error.
func (p *Plugin) panicked(where string, r any) error {
	err := fmt.Errorf("panic in %s: %v", where, r)
	p.log.Error(err.Error(), "stack", string(debug.Stack()))
	return err
}
