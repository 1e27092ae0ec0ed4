package python

import (
	"context"
	"log/slog"
	"strings"
)

// A voice is a name under which a plugin's output comes: its file's while it is loaded, its own
// afterwards.
type voice struct {
	name   string
	plugin *plugin
}

// listen files what comes under a name under a plugin.
func (r *runner) listen(name string, p *plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.voices = append(r.voices, voice{name, p})
}

// logLine files a line of the runner's stderr under its plugin. What has no mark was written past
// Python, by a subprocess or with os.write, most likely for the plugin that was called last.
func (r *runner) logLine(line string) {
	marked, ok := strings.CutPrefix(line, logMark)
	if !ok {
		r.voice().Info("stderr", "line", line)
		return
	}
	name, rest, _ := strings.Cut(marked, logMark)
	level, text, _ := strings.Cut(rest, logMark)
	r.voiceOf(name).Log(context.Background(), levelOf(level), "stderr", "line", text)
}

func (r *runner) voiceOf(name string) *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.voices {
		if v.name == name {
			return v.plugin.log
		}
	}
	return r.fallback()
}

// voice is where the interpreter itself is logged.
func (r *runner) voice() *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fallback()
}

// fallback is for lines that are nobody's; the caller holds mu.
func (r *runner) fallback() *slog.Logger {
	if p := r.last.Load(); p != nil {
		return p.log
	}
	if len(r.voices) > 0 {
		return r.voices[len(r.voices)-1].plugin.log // the one that is being loaded
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
