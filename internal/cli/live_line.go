package cli

import (
	"cmp"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// A liveLine is the last line on the user's terminal. It is drawn over itself, and removed when
// there is nothing to show. It writes to stderr. A nil liveLine draws nothing.
type liveLine struct {
	app *app

	mu    sync.Mutex // protects the field below, and serialises writes
	shown string     // the text on the screen; "": there is no line
}

// line returns the live line of the command. It returns nil if stderr is not a terminal, if the
// terminal cannot draw over a line, or if the result is JSON.
func (a *app) line() *liveLine {
	if !a.ErrTTY || a.flags.json || a.dumb() {
		return nil
	}
	if a.live == nil {
		a.live = &liveLine{app: a}
	}
	return a.live
}

// clearLine moves to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

// set replaces the text of the line; "" removes the line. Write errors are ignored, because other
// code notices that the terminal is gone.
func (l *liveLine) set(text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text = render.Cut(render.Line(text), l.app.columns()-1)
	if text == l.shown {
		return
	}
	before := ""
	if l.shown == "" {
		before = l.pastUnfinished()
	}
	l.shown = text
	_, _ = io.WriteString(l.app.Err, before+l.drawn())
}

// pastUnfinished returns the bytes that move past a line that a program or a plugin has printed
// without its end, so that it stays on the screen. It is one space for each column: they reach into
// the next line only if the cursor is not at the beginning of a line.
func (l *liveLine) pastUnfinished() string {
	return strings.Repeat(" ", l.app.errScreen().Width) // 0: the terminal does not say how wide it is
}

// drawn returns the bytes that draw the line. l.mu is held.
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

// errLines returns stderr for whole lines.
func (a *app) errLines() io.Writer {
	if a.live != nil {
		return a.live
	}
	return a.Err
}

// slowWork is how long a command works before it shows what it waits for.
const slowWork = 500 * time.Millisecond

// A waitLine shows what the command waits for, and for how long. Short waits are not shown.
type waitLine struct {
	line *liveLine     // nil: stderr is not a terminal
	slow func() string // returns the text to show instead of what, or ""; may be nil

	mu    sync.Mutex // protects the fields below
	what  string     // "": the command does not wait
	since time.Time
	timer *time.Timer
}

// begin begins a new wait.
func (w *waitLine) begin(what string) { w.waitFor(what, true) }

// update changes the text of the same wait.
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

// waiting shows that the command waits, until end is called.
func (a *app) waiting(what string) (end func()) {
	w := &waitLine{line: a.line()}
	w.begin(what)
	return w.end
}

// waitingAt shows that the command waits for the plugins at a point, until end is called. Events
// that are fired with the context that it returns name the plugin that has not answered for a
// second.
func (a *app) waitingAt(ctx context.Context, point hook.Point) (fire context.Context, end func()) {
	calls := &hook.Calls{}
	w := &waitLine{line: a.line(), slow: func() string { return tui.SlowPlugin(calls) }}
	w.begin("waiting for the plugins at " + string(point))
	return hook.WithCalls(ctx, calls), w.end
}

// tick draws the line, and again after each slowWork.
func (w *waitLine) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	what := w.what
	if w.slow != nil {
		what = cmp.Or(w.slow(), what)
	}
	w.line.set(what + "  " + clock(time.Since(w.since)))
	w.timer.Reset(slowWork)
}

// end removes the line, because the wait is over or other text follows.
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
