package dialect

import (
	"context"
	"log/slog"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// These keys of a log record decide how a command shows the record. Other keys, such as plugin and
// fix, are only shown.
const (
	// FindingKey marks a record that is also a finding. A command that lists the findings leaves
	// such records out, so that nothing is printed twice.
	FindingKey = "finding"
	// EachHookKey marks a record about a plugin that cannot be called at all. Each of its hooks
	// causes the same record, and a command prints only the first one.
	EachHookKey = "each_hook"
	// GrantKey marks a record about something that the sandbox refused. Its value is the capability
	// that would have allowed it.
	GrantKey = "grant"
)

// IsMark reports whether a key only marks its record, so that the key is not shown.
func IsMark(key string) bool { return key == FindingKey || key == EachHookKey }

// A stderrLine is a line that a plugin wrote to stderr. It has a type of its own, because other
// records use the key "line" too.
type stderrLine string

// LogStderr logs a line that a plugin wrote to stderr.
func LogStderr(log *slog.Logger, level slog.Level, line string) {
	log.Log(context.Background(), level, "stderr", "line", stderrLine(line))
}

// LogEnd logs that the process of a plugin has ended by itself.
func LogEnd(log *slog.Logger, exit proc.Exit, stderr string) {
	attrs := []any{"exit", exit.String()}
	if reason := hook.ReasonLine(stderr); reason != "" {
		attrs = append(attrs, "stderr", reason)
	}
	log.Warn("plugin ended", attrs...)
}

// StderrLine returns the line of stderr in an attribute of a record. ok is false if the attribute
// is not such a line.
func StderrLine(a slog.Attr) (line string, ok bool) {
	l, ok := a.Value.Any().(stderrLine)
	return string(l), ok
}
