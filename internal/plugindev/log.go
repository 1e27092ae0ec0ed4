package plugindev

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// logger turns the host's log about the plugin into events: each line of its stderr, what its
// sandbox denies, and warnings. If all is set, it adds the host's own debug log.
func logger(emit func(Event), all bool) *slog.Logger { return slog.New(&handler{emit: emit, all: all}) }

type handler struct {
	emit  func(Event)
	all   bool
	attrs []slog.Attr
}

func (h *handler) Enabled(context.Context, slog.Level) bool { return true } // lines of stderr have a lower level than the others

// WithGroup keeps the keys as they are: the module's log has no groups.
func (h *handler) WithGroup(string) slog.Handler { return h }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &c
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	values := make(map[string]string)
	var rest []string
	var stderr *string
	take := func(a slog.Attr) bool {
		if line, ok := dialect.StderrLine(a); ok {
			stderr = &line
		}
		value := a.Value.String()
		values[a.Key] = value
		switch {
		case value == "" || dialect.IsMark(a.Key) || slices.Contains([]string{"plugin", "dialect", "err", "fix"}, a.Key):
		case strings.HasPrefix(value, a.Key+" "): // such as "exit code 3" of the key exit
			rest = append(rest, value)
		default:
			rest = append(rest, a.Key+" "+value)
		}
		return true
	}
	for _, a := range h.attrs {
		take(a)
	}
	r.Attrs(take)
	e := Event{Event: Logged, Time: r.Time, Level: level(r.Level), Text: r.Message, Error: values["err"], Fix: values["fix"]}
	grant, denied := values[dialect.GrantKey]
	switch {
	case stderr != nil:
		e = Event{Event: Stderr, Time: r.Time, Text: *stderr}
	case denied:
		e = Event{Event: Denied, Time: r.Time, Text: values["what"], Grant: grant}
	case r.Level < slog.LevelWarn && !h.all:
		return nil
	case len(rest) > 0:
		e.Text += " (" + strings.Join(rest, ", ") + ")"
	}
	h.emit(e)
	return nil
}

func level(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warning"
	case l >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}
