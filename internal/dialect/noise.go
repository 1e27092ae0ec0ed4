package dialect

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// The budget of one plugin's unexpected output in the log: enough to see what is wrong, too little
// to fill a disk. A plugin that prints to its stdout prints a lot.
const (
	noiseWindow = 10 * time.Second
	noiseLines  = 20
)

// A NoiseLog logs what a plugin sent that belongs to no call, alike in every dialect. What is over
// the budget is counted, and told with the next line that is logged. It is safe for concurrent use.
// Make it with [NewNoiseLog]; a nil one logs nothing.
type NoiseLog struct {
	log func() *slog.Logger

	mu      sync.Mutex // protects the fields below
	began   time.Time  // the present window
	logged  int        // in it
	dropped int        // since one was last logged
}

// NewNoiseLog makes the log of one plugin's unexpected output. Which logger it goes to is asked for
// each line.
func NewNoiseLog(log func() *slog.Logger) *NoiseLog { return &NoiseLog{log: log} }

// Take logs one noise, where the budget allows it. A late reply is a detail: that its call had no
// answer in time was reported.
func (n *NoiseLog) Take(one wire.Noise) {
	if n == nil {
		return
	}
	level := slog.LevelWarn
	if one.Kind == wire.NoiseLate {
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{slog.String("kind", one.Kind.String()), slog.String("line", one.Line)}
	if one.Why != "" {
		attrs = append(attrs, slog.String("why", one.Why))
	}
	n.write(level, noiseText(one.Kind), attrs)
}

// TakeAnswer logs the output of a program that is started for each call, where that output is no
// answer. Unlike a line between messages it cannot be passed over: the call has failed, and its
// error says why.
func (n *NoiseLog) TakeAnswer(output string) {
	if n == nil {
		return
	}
	n.write(slog.LevelWarn, "unexpected output on stdout: it is no answer, so the call failed; print to stderr what is meant for the log",
		[]slog.Attr{slog.String("output", output)})
}

// write logs one message within the budget.
func (n *NoiseLog) write(level slog.Level, message string, attrs []slog.Attr) {
	last, dropped, ok := n.spend(time.Now())
	if !ok {
		return
	}
	if dropped > 0 {
		attrs = append(attrs, slog.Int("dropped", dropped))
	}
	if last {
		level, message = slog.LevelWarn, message+"; more of it is counted, and not logged for a while"
	}
	n.log().LogAttrs(context.Background(), level, message, attrs...)
}

// noiseText says what came, what became of it, and what the plugin's author can do.
func noiseText(k wire.NoiseKind) string {
	const text = "unexpected output on stdout: "
	switch k {
	case wire.NoiseGarbage:
		return text + "a line that is no JSON-RPC message was passed over; print to stderr what is meant for the log"
	case wire.NoiseTooLarge:
		return text + "a message over the size limit was discarded; send less at once"
	case wire.NoiseLate:
		return text + "a reply to a call that was given up was discarded; answer sooner, or give the plugin a longer timeout"
	case wire.NoiseDuplicate, wire.NoiseStale:
		return text + "a reply that no call waits for was discarded; answer each request once"
	case wire.NoiseWrongID:
		return text + "a reply has an id that fits no call; copy the id of the request into the reply"
	case wire.NoiseUnasked:
		return text + "a request or notification that nobody takes here was passed over; declare it, or print it to stderr"
	}
	return "an answer to the plugin's own request could not be sent"
}

// spend takes a line out of the budget, or counts it as dropped. last is the last line of the
// window, dropped is how many were not logged before it.
func (n *NoiseLog) spend(now time.Time) (last bool, dropped int, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.began) >= noiseWindow {
		n.began, n.logged = now, 0
	}
	if n.logged == noiseLines {
		n.dropped++
		return false, 0, false
	}
	n.logged++
	dropped, n.dropped = n.dropped, 0
	return n.logged == noiseLines, dropped, true
}
