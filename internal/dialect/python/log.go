package python

import (
	"context"
	"log/slog"
	"strings"
)

// A voice is a name in the runner's log and the plugin that it means: the name of the file while it
// is loaded, the plugin's own name afterwards.
type voice struct {
	name   string
	plugin *plugin
}

// listen assigns log lines of that name to a plugin.
func (r *runner) listen(name string, p *plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.voices = append(r.voices, voice{name, p})
}

// logLine logs a line of the runner's stderr for its plugin. A line without a mark was written by a
// subprocess or with os.write. It most likely belongs to the plugin that was called last.
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

// voice returns the logger for messages about the interpreter itself.
func (r *runner) voice() *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fallback()
}

// fallback returns the logger for lines that belong to no known plugin. The caller holds mu.
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
