package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// slowStart is how long plugins may take to start before a person is told which of them is waited for.
const slowStart = time.Second

// A startLine is the line on a terminal that names the plugins which are slow to start. It is the last line on the
// screen, drawn over itself, and gone when they have started. It writes to stderr, and nothing where no person watches.
type startLine struct {
	app *app

	mu    sync.Mutex // protects the fields below, and serialises writes
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
		l.draw()
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
		l.draw()
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
		_, _ = io.WriteString(l.app.Err, clearLine) // a terminal that is gone ends the command elsewhere
	}
}

// clearLine goes to the beginning of the line and empties it.
const clearLine = "\r\x1b[K"

// draw draws the line over itself. l.mu is held.
func (l *startLine) draw() {
	text := render.Cut(render.Line(startText(l.now)), l.app.columns()-1)
	_, _ = io.WriteString(l.app.Err, clearLine+l.app.errScreen().Paint(render.StyleDim, text))
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

// Write writes lines of the log above the line.
func (l *startLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.drawn {
		return l.app.Err.Write(p)
	}
	if _, err := io.WriteString(l.app.Err, clearLine); err != nil {
		return 0, err
	}
	n, err := l.app.Err.Write(p)
	l.draw()
	return n, err
}

// onStarting has slow plugins named where a person watches: on a terminal, and not where the result is for a program.
func (a *app) onStarting() func(pluginhost.Starting) {
	if !a.ErrTTY || !a.OutTTY || a.flags.json {
		return nil
	}
	a.starting = &startLine{app: a} // a command may open plugins more than once
	return a.starting.see
}

// errLines is stderr for whole lines.
func (a *app) errLines() io.Writer {
	if a.starting != nil {
		return a.starting
	}
	return a.Err
}
