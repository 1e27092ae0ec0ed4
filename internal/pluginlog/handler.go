package pluginlog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Tee returns a handler that stores records that are about a plugin and have level info or above.
// It passes on the records that next wants.
func (s *Store) Tee(next slog.Handler) slog.Handler { return &handler{take: s.appendLine, next: next} }

// Watch returns a handler that passes records on to next. For a record about a plugin it calls tell
// with the dialect, the name of the plugin, and the line that would be stored. The line may still
// contain secrets. tell must return at once.
func Watch(next slog.Handler, tell func(dialect, plugin string, l Line)) slog.Handler {
	return &handler{next: next, take: func(dialect, plugin string, l Line) error {
		tell(dialect, plugin, l)
		return nil
	}}
}

type handler struct {
	take  func(dialect, plugin string, l Line) error
	next  slog.Handler
	attrs []slog.Attr // from With
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || h.next.Enabled(ctx, l)
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.take, h.next.WithGroup(name), h.attrs}
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.take, h.next.WithAttrs(attrs), append(append([]slog.Attr{}, h.attrs...), attrs...)}
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if plugin, protocol, l := h.about(r); plugin != "" && protocol != "" && r.Level >= slog.LevelInfo {
		if err := h.take(protocol, plugin, l); err != nil {
			h.warnLost(ctx, r, err)
		}
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// warnLost logs that a line could not be stored.
func (h *handler) warnLost(ctx context.Context, r slog.Record, err error) {
	told := slog.NewRecord(r.Time, slog.LevelWarn, "the logs of plugins are not stored: make the state directory writable", 0)
	told.AddAttrs(slog.Any("err", err))
	_ = h.next.Handle(ctx, told) // if this fails too, there is no other place to log it
}

// about returns the plugin and dialect of a record, and the line to be stored.
func (h *handler) about(r slog.Record) (plugin, protocol string, l Line) {
	var rest []string
	l = Line{Time: r.Time.UTC(), Level: level(r.Level), Text: r.Message}
	take := func(a slog.Attr) bool {
		a.Value = a.Value.Resolve()
		line, stderr := dialect.StderrLine(a)
		switch {
		case stderr:
			l.Level, l.Text = "stderr", line
		case a.Key == "plugin":
			plugin = a.Value.String()
		case a.Key == "dialect":
			protocol = a.Value.String()
		case !dialect.IsMark(a.Key):
			rest = append(rest, fmt.Sprintf("%s: %s", a.Key, a.Value))
		}
		return true
	}
	for _, a := range h.attrs {
		take(a)
	}
	r.Attrs(take)
	if len(rest) > 0 && l.Level != "stderr" {
		l.Text += " (" + strings.Join(rest, ", ") + ")"
	}
	return plugin, protocol, l
}

func level(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warning"
	}
	return "info"
}
