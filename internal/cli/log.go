package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// A logStyle is how a long-running command logs. The zero value is for all other commands.
type logStyle struct {
	file  *os.File // instead of stderr, if the command uses the screen
	also  *logFile // also written to; nil: no file
	level slog.Level
	times bool
}

// longLog returns the style of a long-running command: its log has messages of plugins, with times.
func longLog(file *os.File) *logStyle {
	return &logStyle{file: file, level: slog.LevelInfo, times: true}
}

// logger returns a logger for stderr. It shows warnings, and with -v everything.
func (a *app) logger() *slog.Logger {
	store := a.pluginLog()
	h := &logHandler{sink: newSink(a.errLines(), store), level: slog.LevelWarn, screen: a.errScreen(), reported: a.reportsPlugins && !a.flags.verbose}
	if a.ErrTTY {
		h.width = a.ErrWidth
	}
	if a.log != nil {
		h.level, h.times = a.log.level, a.log.times
		if a.log.file != nil {
			h.sink, h.screen, h.width = newSink(a.log.file, store), render.Options{}, nil
		}
	}
	if a.flags.verbose {
		h.level = slog.LevelDebug
	}
	var all slog.Handler = h
	if a.log != nil && a.log.also != nil {
		kept := *h
		kept.sink, kept.screen, kept.width, kept.noStderr = newSink(a.log.also, store), render.Options{}, nil, true
		all = slog.NewMultiHandler(h, &kept)
	}
	if store != nil {
		all = store.Tee(all)
	}
	return slog.New(all)
}

// pluginLog returns the store for messages of plugins, or nil if there is no directory for it.
func (a *app) pluginLog() *pluginlog.Store {
	if a.plugins == nil {
		dirs, err := a.located()
		if err != nil {
			return nil // commands that need a directory report the error
		}
		hidden := a.hidden(dirs)
		a.plugins = &pluginlog.Store{Dir: pluginlog.Dir(dirs.State), Clean: func(text string) string { return hidden().Clean(text) }}
	}
	return a.plugins
}

// hidden returns a function that finds the secrets when they are first needed.
func (a *app) hidden(dirs config.Dirs) func() *pluginhost.Hidden {
	files := a.files
	return sync.OnceValue(func() *pluginhost.Hidden { return pluginhost.HiddenIn(dirs, files, a.Environ) })
}

// openLog opens a log file in the state directory. It begins a new one when the old one has grown
// large.
func openLog(dir, name string) (*os.File, error) {
	const most = 4 << 20
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("log %s: %w", path, plainfile.ErrKind)
	case err == nil && info.Size() > most:
		mode |= os.O_TRUNC
	}
	return os.OpenFile(path, mode, 0o600)
}

// A logHandler writes one short line for each record: "warning: plugin NAME: message: error (key
// value); fix: what to do". Unless lines have times, the other lines of an error follow, indented.
type logHandler struct {
	sink   *logSink
	level  slog.Level
	screen render.Options
	attrs  []slog.Attr // from With
	times  bool        // lines begin with the time
	width  func() int  // returns the columns of the terminal; nil: no terminal

	noStderr bool // leave out stderr of plugins, which `patchbay plugin logs` shows
	reported bool // the command itself lists plugins that do not start
}

// A logSink is the writer that a handler shares with the handlers made from it.
type logSink struct {
	mu    sync.Mutex // serialises writes, and protects told
	w     io.Writer
	clean func(text string) string // removes secrets; nil: removes nothing
	told  map[string]bool          // the plugins and errors of records with [dialect.EachHookKey]
}

// newSink returns a sink from which the same secrets are removed as from the logs of plugins. What
// is written to stderr may be stored too, as it is for a service.
func newSink(w io.Writer, plugins *pluginlog.Store) *logSink {
	s := &logSink{w: w}
	if plugins != nil {
		s.clean = plugins.Clean
	}
	return s
}

// repeats reports whether the sink has already printed this error of the plugin, for another hook.
// If it has not, repeats notes the error.
func (s *logSink) repeats(p *parts) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := p.plugin + ": " + p.err
	if s.told[text] {
		return true
	}
	if s.told == nil {
		s.told = make(map[string]bool)
	}
	s.told[text] = true
	return false
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// WithGroup keeps the keys as they are, because our logs have no groups.
func (h *logHandler) WithGroup(string) slog.Handler { return h }

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &c
}

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	p := h.parts(r)
	if h.reported && p.finding || h.noStderr && p.stderr != nil {
		return nil
	}
	if p.eachHook && !h.times && h.level >= slog.LevelWarn && h.sink.repeats(&p) {
		return nil
	}
	var more []string
	if !h.times {
		p.err, more = unfold(p.err)
	}
	line := h.line(r, &p)
	if h.times {
		line = r.Time.Format(time.DateTime) + " " + line
	}
	if h.width != nil && p.stderr == nil {
		line = render.Wrap(line, h.width(), "  ")
	}
	for _, text := range more {
		line += "\n" + strings.TrimRight("    "+h.screen.Paint(render.StyleDim, render.Line(text)), " ")
	}
	if h.sink.clean != nil {
		line = h.sink.clean(line)
	}
	h.sink.mu.Lock()
	defer h.sink.mu.Unlock()
	_, err := io.WriteString(h.sink.w, line+"\n")
	return err
}

// unfold splits an error of several lines, such as a traceback, into the line that a reader needs
// first and the lines to show below it.
func unfold(text string) (first string, below []string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) == 1 {
		return text, nil
	}
	if traces.Regexp().MatchString(text) {
		return hook.ReasonLine(text), lines
	}
	return lines[0], lines[1:]
}

// traces matches the frames of the stack that Python, Node, Go and Java print with an error.
var traces = pattern.New(`(?m)^Traceback \(most recent call last\):|^\s+File ".*", line \d+|^\s+at \S|^goroutine \d+ \[`)

// parts sorts the attributes of a record.
func (h *logHandler) parts(r slog.Record) parts {
	p := parts{message: r.Message}
	for _, a := range h.attrs {
		p.add(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		p.add(a)
		return true
	})
	return p
}

func (h *logHandler) line(r slog.Record, p *parts) string {
	if p.stderr != nil {
		return h.screen.Paint(render.StyleDim, p.plugin+" │") + " " + render.Line(*p.stderr)
	}
	word, style := levelWord(r.Level)
	return h.screen.Paint(style, word+":") + " " + render.Line(p.text())
}

func levelWord(l slog.Level) (string, render.Style) {
	switch {
	case l >= slog.LevelError:
		return "error", render.StyleRed
	case l >= slog.LevelWarn:
		return "warning", render.StyleYellow
	case l >= slog.LevelInfo:
		return "info", render.StyleBlue
	}
	return "debug", render.StyleDim
}

// parts holds the parts of a record in the order in which they are printed.
type parts struct {
	plugin  string
	message string
	err     string
	stderr  *string // a line that the plugin wrote to stderr
	finding bool    // a command that lists findings lists this one too
	rest    []string
	fix     string // how to fix it

	eachHook bool // each hook of the plugin causes the same record
}

func (p *parts) add(a slog.Attr) {
	value := attrText(a.Value.Resolve())
	line, stderr := dialect.StderrLine(a)
	switch {
	case stderr:
		p.stderr = &line
	case a.Key == "plugin":
		p.plugin = value
	case a.Key == "err":
		p.err = value
	case a.Key == dialect.FindingKey:
		p.finding = true
	case a.Key == dialect.EachHookKey:
		p.eachHook = true
	case a.Key == "fix":
		p.fix = value
	case a.Key == "dialect": // left out: the name of the plugin is enough
	case value == "":
	case strings.HasPrefix(value, a.Key+" "): // such as "exit code 3" of the key exit
		p.rest = append(p.rest, value)
	case strings.Contains(value, " "): // quoted, to show where it ends
		p.rest = append(p.rest, a.Key+` "`+value+`"`)
	default:
		p.rest = append(p.rest, a.Key+" "+value)
	}
}

func attrText(v slog.Value) string {
	if v.Kind() == slog.KindDuration {
		return render.Duration(v.Duration())
	}
	return v.String()
}

func (p *parts) text() string {
	var b strings.Builder
	if p.plugin != "" {
		b.WriteString("plugin " + p.plugin + ": ")
	}
	b.WriteString(p.message)
	if p.err != "" {
		b.WriteString(": " + p.err)
	}
	if len(p.rest) > 0 {
		b.WriteString(" (" + strings.Join(p.rest, ", ") + ")")
	}
	if p.fix != "" {
		b.WriteString("; fix: " + p.fix)
	}
	return b.String()
}
