package cli

import (
	"io"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A liveLine is the last line on a person's terminal: drawn over itself, and gone when there is
// nothing to say. It writes to stderr. A nil one draws nothing: nobody watches.
type liveLine struct {
	app *app

	mu    sync.Mutex // protects the field below, and serialises writes
	shown string     // fit to be shown; "": there is no line
}

// line is the command's live line; nil where no person watches, or the result is for a program.
func (a *app) line() *liveLine {
	if !a.ErrTTY || a.flags.json {
		return nil
	}
	if a.live == nil {
		a.live = &liveLine{app: a}
	}
	return a.live
}

// clearLine goes to the beginning of the line and empties it.
const clearLine = "\r\x1b[K"

// set draws a text in the place of the one before; "" takes the line away. A terminal that is gone
// ends the command elsewhere.
func (l *liveLine) set(text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text = render.Cut(render.Line(text), l.app.columns()-1)
	if text != l.shown {
		l.shown = text
		_, _ = io.WriteString(l.app.Err, l.drawn())
	}
}

// drawn is the line as the terminal is sent it. l.mu is held.
func (l *liveLine) drawn() string {
	return clearLine + l.app.errScreen().Paint(render.StyleDim, l.shown)
}

// Write writes lines of the log above the line.
func (l *liveLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown == "" {
		return l.app.Err.Write(p)
	}
	if _, err := io.WriteString(l.app.Err, clearLine); err != nil {
		return 0, err
	}
	n, err := l.app.Err.Write(p)
	_, _ = io.WriteString(l.app.Err, l.drawn())
	return n, err
}

// errLines is stderr for whole lines.
func (a *app) errLines() io.Writer {
	if a.live != nil {
		return a.live
	}
	return a.Err
}

// slowWork is how long a person waits before being told what for.
const slowWork = 500 * time.Millisecond

// A waitLine says what a person waits for, and for how long already. It is not shown for a short
// wait.
type waitLine struct {
	line *liveLine // nil: nobody watches

	mu    sync.Mutex // protects the fields below
	what  string     // "": nothing is waited for
	since time.Time
	timer *time.Timer
}

// begin says what is waited for from now on.
func (w *waitLine) begin(what string) { w.waitFor(what, true) }

// update says it in other words: the wait is the same.
func (w *waitLine) update(what string) { w.waitFor(what, false) }

func (w *waitLine) waitFor(what string, anew bool) {
	if w.line == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.what == "" || anew {
		w.since = time.Now()
	}
	w.what = what
	if w.timer == nil {
		w.timer = time.AfterFunc(slowWork, w.tick)
	}
}

// tick draws the line, again every second.
func (w *waitLine) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	w.line.set(w.what + "  " + clock(time.Since(w.since)))
	w.timer.Reset(slowWork)
}

// end takes the line away: something else is shown, or the wait is over.
func (w *waitLine) end() {
	if w.line == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	w.what = ""
	w.line.set("")
}
