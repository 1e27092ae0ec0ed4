package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// A waiter shows that a run waits for its next attempt. On a terminal it counts down, and Enter
// makes the attempt now.
type waiter struct {
	app   *app
	enter chan struct{} // a line was typed; nil: the terminal is not ours to read
	drawn chan struct{} // closed when the last countdown is off the screen; nil: there was none
}

func (a *app) newWaiter() *waiter { return &waiter{app: a} }

// listen reads what is typed. It begins with the run, so that an Enter from before the wait does
// not end the wait.
func (w *waiter) listen() {
	in := isFile(w.app.In)
	if !w.live() || in == nil || !w.app.InTTY || !inForeground(in) {
		return
	}
	w.enter = make(chan struct{})
	go func() { // ends with the process, which may be waiting here when the run is over
		for {
			if _, err := readLine(in); err != nil {
				return
			}
			select {
			case w.enter <- struct{}{}:
			default: // no attempt is waited for
			}
		}
	}()
}

// live tells whether a person watches.
func (w *waiter) live() bool { return w.app.person() && w.app.ErrTTY }

// wait tells why a run waits, and how long.
func (w *waiter) wait(ctx context.Context, r job.Run) <-chan struct{} {
	a := w.app
	if a.flags.json {
		return nil
	}
	last := r.Attempts[len(r.Attempts)-1]
	a.printf("%s attempt %d of %d failed: %s\n", a.screen().Paint(render.StyleYellow, "!"), last.Number, r.Most, render.Line(last.Error))
	if !w.live() {
		a.printf("  the next attempt is in %s (Ctrl-C ends the run; --attempts 1 makes one attempt)\n", span(time.Until(r.NextAt)))
		return nil
	}
	skip, drawn := make(chan struct{}), make(chan struct{})
	w.drawn = drawn
	go func() {
		defer close(drawn)
		w.count(ctx, r, skip)
	}()
	return skip
}

// over waits until the screen is free for others.
func (w *waiter) over() {
	if w.drawn != nil {
		<-w.drawn
	}
}

// count shows the seconds that are left, until the wait is over or a line is typed. It is the only
// writer to the terminal meanwhile.
func (w *waiter) count(ctx context.Context, r job.Run, skip chan<- struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		w.draw(r)
		select {
		case <-ctx.Done():
			w.clear()
			return
		case <-w.enter:
			fmt.Fprint(w.app.Err, "\x1b[A") // the terminal has echoed the Enter: back to the countdown
			w.clear()
			close(skip)
			return
		case <-tick.C:
		}
	}
}

func (w *waiter) draw(r job.Run) {
	keys := "Ctrl-C ends the run"
	if w.enter != nil {
		keys = "Enter starts it now, " + keys
	}
	text := fmt.Sprintf("  attempt %d of %d in %s (%s)", len(r.Attempts)+1, r.Most, clock(time.Until(r.NextAt)), keys)
	text = strings.TrimRight(render.Cut(text, w.app.columns()-1), " ")
	fmt.Fprint(w.app.Err, "\r\x1b[K"+w.app.errScreen().Paint(render.StyleDim, text))
}

func (w *waiter) clear() { fmt.Fprint(w.app.Err, "\r\x1b[K") }

// clock is the time that is left, as a kitchen timer shows it.
func clock(d time.Duration) string {
	s := max(int(d.Round(time.Second).Seconds()), 0)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// person tells whether a person typed the command and reads its result.
func (a *app) person() bool { return a.InTTY && a.OutTTY && !a.flags.json }

// columns is how wide the terminal is.
func (a *app) columns() int {
	return cmp.Or(a.errScreen().Width, a.Width, 80)
}
