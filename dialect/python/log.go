package python

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
)

// A voice is a name under which a plugin's output comes: its file's while it is
// loaded, its own afterwards.
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

// logLine files a line of the runner's stderr under its plugin. What has no
// mark was written past Python, by a subprocess or with os.write, most likely
// for the plugin that was called last.
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

// frame is a line of the stack that an interpreter writes when it is ended.
var frame = regexp.MustCompile(`(?m)^  File "([^"\n]+)", line (\d+) in (\S+)$`)

// culprit is where in which plugin a blocked interpreter was: the innermost
// frame that is a plugin's.
func (r *runner) culprit(stderr string) string {
	frames := frame.FindAllStringSubmatch(stderr, -1)
	for _, f := range frames {
		for _, p := range r.opened() {
			if f[1] == p.path {
				return fmt.Sprintf("%s:%s in %s", filepath.Base(f[1]), f[2], f[3])
			}
		}
	}
	return "an unknown place"
}
