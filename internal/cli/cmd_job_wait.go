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
// starts the attempt at once.
type waiter struct {
	app   *app
	enter chan struct{} // receives when a line was typed; nil: we must not read from the terminal
	drawn chan struct{} // closed when the last countdown is removed from the screen; nil: there was none
}

func (a *app) newWaiter() *waiter { return &waiter{app: a} }

// listen reads lines from the terminal. It starts with the run: a line that is typed before the
// wait is read and dropped, so it cannot end the wait.
func (w *waiter) listen() {
	in := asFile(w.app.In)
	if !w.live() || in == nil || !w.app.InTTY || !inForeground(in) {
		return
	}
	w.enter = make(chan struct{})
	go func() { // ends with the process; it may still wait here when the run has ended
		for {
			if _, err := readLine(in); err != nil {
				return
			}
			select {
			case w.enter <- struct{}{}:
			default: // the run does not wait for an attempt
			}
		}
	}()
}

// live reports whether a user watches on a terminal.
func (w *waiter) live() bool { return w.app.interactive() && w.app.ErrTTY && !w.app.dumb() }

// wait prints why a run waits, and for how long. The channel is closed when the user asks for the
// next attempt.
func (w *waiter) wait(ctx context.Context, r job.Run) <-chan struct{} {
	a := w.app
	if a.flags.json {
		return nil
	}
	last := r.Attempts[len(r.Attempts)-1]
	failed := fmt.Sprintf("%s attempt %d of %d failed: %s", a.screen().Paint(render.StyleYellow, "!"), last.Number, r.Most, render.Line(last.Error))
	a.printf("%s\n", render.Wrap(failed, a.screen().Width, "  "))
	if !w.live() {
		a.sayf("  the next attempt is %s (Ctrl-C ends the run; --attempts 1 makes one attempt)\n", until(time.Until(r.NextAt)))
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

// over waits until the countdown is removed from the screen.
func (w *waiter) over() {
	if w.drawn != nil {
		<-w.drawn
	}
}

// count shows the remaining seconds, until the wait ends or a line is typed. No other code writes
// to the terminal during that time.
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
	text := fmt.Sprintf("  attempt %d of %d now", len(r.Attempts)+1, r.Most)
	if left := time.Until(r.NextAt); left >= time.Second/2 {
		text = fmt.Sprintf("  attempt %d of %d in %s (%s)", len(r.Attempts)+1, r.Most, clock(left), keys)
	}
	text = strings.TrimRight(render.Cut(text, w.app.columns()-1), " ")
	fmt.Fprint(w.app.Err, "\r\x1b[K"+w.app.errScreen().Paint(render.StyleDim, text))
}

func (w *waiter) clear() { fmt.Fprint(w.app.Err, "\r\x1b[K") }

// clock returns a duration as minutes and seconds, with hours if there are any.
func clock(d time.Duration) string {
	s := max(int(d.Round(time.Second).Seconds()), 0)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// interactive reports whether a user typed the command on a terminal and reads its result there.
func (a *app) interactive() bool { return a.InTTY && a.OutTTY && !a.flags.json }

// columns returns the width of the terminal.
func (a *app) columns() int {
	return cmp.Or(a.errScreen().Width, a.Width, 80)
}
