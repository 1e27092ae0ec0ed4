package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// slowStart is how long plugins may take to start, or to stop, before the command shows which ones
// it waits for.
const slowStart = time.Second

// A startLine names the plugins that are slow to start, on the live line, until they have started;
// or those that are slow to stop.
type startLine struct {
	line *liveLine
	text func(pluginhost.Starting) string

	mu    sync.Mutex // protects the fields below
	now   pluginhost.Starting
	wait  *time.Timer // draws the line when it fires; nil: no plugin is starting
	drawn bool
	over  bool // the command has begun its work, and draws no more
}

// see records the progress of the start.
func (l *startLine) see(s pluginhost.Starting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = s
	switch {
	case l.over:
	case len(s.Names) == 0 && s.Ended == s.All:
		l.end()
	case l.drawn:
		l.line.set(l.text(s))
	case l.wait == nil:
		l.wait = time.AfterFunc(slowStart, l.show)
	}
}

// show draws the line for the first time.
func (l *startLine) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wait != nil && !l.over {
		l.drawn = true
		l.line.set(l.text(l.now))
	}
}

// stop ends the line when the command's plugins have started. The command does not wait for plugins
// that start later.
func (l *startLine) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.end()
}

// end removes the line. l.mu is held.
func (l *startLine) end() {
	if l.wait != nil {
		l.wait.Stop()
		l.wait = nil
	}
	if l.drawn {
		l.drawn = false
		l.line.set("")
	}
}

func startText(s pluginhost.Starting) string {
	return fmt.Sprintf("starting %s, %d of %d ready", firstNames(s.Names), s.Ready, s.All)
}

func stopText(s pluginhost.Starting) string { return "stopping " + firstNames(s.Names) }

// firstNames names at most three plugins.
func firstNames(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// onStarting returns the function that shows slow plugins, or nil if stderr is not a terminal. It
// works even if the result goes into a pipe.
func (a *app) onStarting() func(pluginhost.Starting) {
	line := a.line()
	if line == nil {
		return nil
	}
	a.starting = &startLine{line: line, text: startText} // a command may open plugins more than once
	return a.starting.see
}

// onStopping is the same for plugins that are slow to stop.
func (a *app) onStopping() func(pluginhost.Starting) {
	line := a.line()
	if line == nil {
		return nil
	}
	return (&startLine{line: line, text: stopText}).see
}
