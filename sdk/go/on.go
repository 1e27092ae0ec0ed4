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

// An Option narrows or describes a handler, a tool, a method or a command.
type Option func(*options)

type options struct {
	only      string
	within    time.Duration
	schema    string
	argsHelp  string
	userStdin bool
}

// Only has a handler asked only for tools or commands that match a pattern: * stands for any text,
// as in "git*" or "todo.*".
func Only(pattern string) Option { return func(o *options) { o.only = pattern } }

// Within is how long a handler, a tool or a method may take: its context ends then. Manifests tell
// hosts how long handlers may take, where there is a place for it.
func Within(d time.Duration) Option { return func(o *options) { o.within = d } }

// Schema gives the JSON Schema of the arguments of a tool or a method by hand, where the one made
// of their type will not do.
func Schema(schema string) Option { return func(o *options) { o.schema = schema } }

// ArgsHelp is the line of help about a command's arguments, such as "[--json] WORD…".
func ArgsHelp(text string) Option { return func(o *options) { o.argsHelp = text } }

// UserStdin gives a command the user's stdin: the terminal, or what was piped into it. Otherwise it
// is empty. Hosts that do not know this still run the command, with an empty stdin.
func UserStdin() Option { return func(o *options) { o.userStdin = true } }

// gather applies options, and refuses those that mean nothing: allowed are the ones that do.
func (p *Plugin) gather(what string, given []Option, allowed options) options {
	var o options
	for _, option := range given {
		option(&o)
	}
	if o.only != "" && allowed.only == "" || o.within != 0 && allowed.within == 0 || o.schema != "" && allowed.schema == "" ||
		o.argsHelp != "" && allowed.argsHelp == "" || o.userStdin && !allowed.userStdin {
		p.fault("%s has an option that means nothing there", what)
	}
	if o.within < 0 {
		p.fault("%s cannot take %s", what, o.within)
	}
	return o
}

// On has a function asked at a point. Several at one point are asked in the order of their
// definition, each with the event as the one before has left it; a verdict that ends the event ends
// it for the others too.
func On[E any](p *Plugin, point Point[E], handle func(ctx context.Context, event *E) Verdict, with ...Option) {
	allowed := options{within: 1}
	if strings.HasPrefix(point.name, "tool.") || strings.HasPrefix(point.name, "command.") {
		allowed.only = "*"
	}
	o := p.gather(point.name, with, allowed)
	if _, err := path.Match(o.only, ""); err != nil {
		p.fault("%s: %q is no pattern", point.name, o.only)
	}
	call := func(ctx context.Context, event any) Verdict { return handle(ctx, event.(*E)) }
	p.handlers[point.name] = append(p.handlers[point.name], handler{call: call, match: o.only, timeout: o.within})
}

// matches tells whether a pattern is for a tool or a command. * crosses dots and slashes.
func matches(pattern, subject string) bool {
	if pattern == "" || pattern == "*" {
		return true
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(subject))
	return ok && err == nil
}

// ask asks the handlers of a point about an event, whose subject is a tool's or a command's name.
// The verdict is the first that ends the event; else Modify where one handler has changed it.
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

// panicked logs a panic, and makes it an error.
func (p *Plugin) panicked(where string, r any) error {
	err := fmt.Errorf("panic in %s: %v", where, r)
	p.log.Error(err.Error(), "stack", string(debug.Stack()))
	return err
}
