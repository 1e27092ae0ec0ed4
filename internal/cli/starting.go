package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// slowStart is how long plugins may take to start before a person is told which of them is waited
// for.
const slowStart = time.Second

// A startLine names the plugins that are slow to start, on the live line, until they have started.
type startLine struct {
	line *liveLine

	mu    sync.Mutex // protects the fields below
	now   pluginhost.Starting
	wait  *time.Timer // until it is drawn; nil: nothing is being started
	drawn bool
	over  bool // the command has begun its work
}

// see is told how far the start has come.
func (l *startLine) see(s pluginhost.Starting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = s
	switch {
	case l.over:
	case len(s.Names) == 0 && s.Ended == s.All:
		l.end()
	case l.drawn:
		l.line.set(startText(s))
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
		l.line.set(startText(l.now))
	}
}

// stop is for a command whose plugins have started: what starts later is not what it waits for.
func (l *startLine) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.end()
}

// end takes the line away. l.mu is held.
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

// startText names those that are waited for, three at the most.
func startText(s pluginhost.Starting) string {
	names := s.Names
	more := ""
	if len(names) > 3 {
		names, more = names[:3], fmt.Sprintf(" and %d more", len(s.Names)-3)
	}
	return fmt.Sprintf("starting %s%s, %d of %d ready", strings.Join(names, ", "), more, s.Ready, s.All)
}

// onStarting has slow plugins named where a person watches, also where the result goes into a pipe.
func (a *app) onStarting() func(pluginhost.Starting) {
	line := a.line()
	if line == nil {
		return nil
	}
	a.starting = &startLine{line: line} // a command may open plugins more than once
	return a.starting.see
}
