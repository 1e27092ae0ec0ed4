package python

import (
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// A logName is a name in the runner's log, and the plugin that it means. The name is that of the
// file while the file is loaded, and the plugin's own afterwards.
type logName struct {
	name   string
	plugin *plugin
}

// listen assigns log lines of that name to a plugin. They stay assigned to it after it is closed,
// because its handlers may still run until the interpreter ends.
func (r *runner) listen(name string, p *plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logNames = slices.DeleteFunc(r.logNames, func(n logName) bool { return n.name == name && n.plugin.path == p.path })
	r.logNames = append(r.logNames, logName{name, p})
}

// logLine logs a line of the runner's stderr for its plugin. A line without a mark was written by a
// subprocess or with os.write. It most likely belongs to the plugin that was called last.
func (r *runner) logLine(line string) {
	l := parseLine(line)
	if !l.marked {
		dialect.LogStderr(r.logger(), slog.LevelInfo, line)
		return
	}
	dialect.LogStderr(r.loggerOf(l.plugin), levelOf(l.level), l.text)
}

// A logLine is a line of an interpreter's stderr.
type logLine struct {
	marked              bool // by the runner, with plugin and level
	plugin, level, text string
}

func parseLine(line string) logLine {
	marked, ok := strings.CutPrefix(line, logMark)
	if !ok {
		return logLine{text: line}
	}
	name, rest, _ := strings.Cut(marked, logMark)
	level, text, _ := strings.Cut(rest, logMark)
	return logLine{true, name, level, text}
}

// saidBy returns the part of an interpreter's stderr that a plugin may have written: the lines with
// one of its names, and those without a mark. It leaves out the stacks of an interpreter that was
// ended: they say where it was, not why ([blockedAt] reads them).
func saidBy(stderr string, names ...string) string {
	var said []string
	for i, line := range strings.Split(stderr, "\n") {
		l := parseLine(line)
		switch {
		case i == 0 && len(stderr) >= stderrTail: // the start of this line is lost, so its plugin is unknown
		case l.marked && !slices.Contains(names, l.plugin):
		case !l.marked && (frame.Regexp().MatchString(line) || stackHead.Regexp().MatchString(line)):
		default:
			said = append(said, l.text)
		}
	}
	return strings.TrimSpace(strings.Join(said, "\n"))
}

// stderrTail is how much of its stderr a [proc.Process] stores.
const stderrTail = 4 << 10

// loggerOf returns the logger of the plugin with that name in the runner's log. If an open and a
// closed plugin have the same name, it returns that of the open one.
func (r *runner) loggerOf(name string) *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	var closed *plugin
	for _, v := range r.logNames {
		switch {
		case v.name != name:
		case slices.Contains(r.plugins, v.plugin):
			return v.plugin.log
		default:
			closed = v.plugin
		}
	}
	if closed != nil {
		return closed.log
	}
	return r.fallback()
}

// logger returns the logger for messages about the interpreter itself.
func (r *runner) logger() *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fallback()
}

// fallback returns the logger for lines that belong to no known plugin. The caller holds mu.
func (r *runner) fallback() *slog.Logger {
	if p := r.last.Load(); p != nil {
		return p.log
	}
	if len(r.logNames) > 0 {
		return r.logNames[len(r.logNames)-1].plugin.log // the one that is being loaded
	}
	return r.log
}

func levelOf(letter string) slog.Level {
	switch letter {
	case "D":
		return slog.LevelDebug
	case "W":
		return slog.LevelWarn
	case "E":
		return slog.LevelError
	}
	return slog.LevelInfo
}

// withoutOthersStderr removes from an error what other plugins wrote to the stderr of the
// interpreter.
func (p *plugin) withoutOthersStderr(err error) error {
	if failed, ok := errors.AsType[*hook.Error](err); ok {
		failed.Stderr = saidBy(failed.Stderr, p.name, stem(p.path))
	}
	return err
}
