package dialect

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// noiseLines is how many lines of one plugin's unexpected output are logged in each noiseWindow:
// enough to see the mistake, too few to fill a disk.
const (
	noiseWindow = 10 * time.Second
	noiseLines  = 20
)

// noiseLine is the length to which a line is cut in a finding.
const noiseLine = 200

// A NoiseLog logs the messages and lines of a plugin that answer no call, in the same way for every
// dialect. Lines over the budget are counted, and the next line that is logged has their
// number. It is safe for concurrent use. Make it with [NewNoiseLog]; a nil one logs nothing.
type NoiseLog struct {
	log func() *slog.Logger

	mu      sync.Mutex                // protects the fields below
	odd     func(message, fix string) // gets warnings as findings while the plugin starts; nil: it has started
	began   time.Time                 // of the present window
	logged  int                       // lines in the present window
	dropped int                       // lines since the last one that was logged
}

// NewNoiseLog returns a log for one plugin. log is called for each line and returns the logger to
// use.
func NewNoiseLog(log func() *slog.Logger) *NoiseLog { return &NoiseLog{log: log} }

// Starting gives the log a function for warnings. Until [NoiseLog.Started] is called, the log does
// not write a warning, but calls the function: what a plugin prints while it starts is a finding,
// because it happens at every start.
func (n *NoiseLog) Starting(odd func(message, fix string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.odd = odd
}

// Started reports that the plugin has started: from now on warnings are logged.
func (n *NoiseLog) Started() { n.Starting(nil) }

// Take logs one line, if the budget allows it. A late reply is logged at debug level, because the
// timeout of its call was reported. The last line of the budget is a warning, whatever it is.
func (n *NoiseLog) Take(one wire.Noise) {
	if n == nil {
		return
	}
	level := slog.LevelWarn
	if one.Kind == wire.NoiseLate {
		level = slog.LevelDebug
	}
	what, fix := noiseText(one.Kind)
	if level == slog.LevelWarn && n.reportFinding(what, fix, one.Line) {
		return
	}
	attrs := []slog.Attr{slog.String("kind", one.Kind.String()), slog.String("line", one.Line)}
	if one.Why != "" {
		attrs = append(attrs, slog.String("why", one.Why))
	}
	if fix != "" {
		attrs = append(attrs, slog.String("fix", fix))
	}
	n.write(level, what, attrs)
}

// reportFinding reports a line as a finding, if the plugin is starting. Otherwise it returns false.
func (n *NoiseLog) reportFinding(what, fix, line string) bool {
	n.mu.Lock()
	odd := n.odd
	n.mu.Unlock()
	if odd == nil {
		return false
	}
	if _, _, ok := n.spend(time.Now()); ok {
		odd(fmt.Sprintf("%s: %q", what, excerpt.Of(line, noiseLine)), fix)
	}
	return true
}

// TakeAnswer logs the output of a program that is started for each call, if that output is not an
// answer. In that case the call has failed, and its error says why. The output is therefore logged
// at level info, and not as a warning, unless it is the last line of the budget.
func (n *NoiseLog) TakeAnswer(output string) {
	if n == nil {
		return
	}
	n.write(slog.LevelInfo, "the output of a call that failed",
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

// noiseText says what arrived, what the host did with it, and what the plugin's author can do.
func noiseText(k wire.NoiseKind) (what, fix string) {
	const text = "unexpected output on stdout: "
	switch k {
	case wire.NoiseGarbage:
		return text + "a line that is not a JSON-RPC message was ignored", "print text for the log to stderr, and each message on one line of stdout"
	case wire.NoiseTooLarge:
		return text + "a message over the size limit was discarded", "send less at once"
	case wire.NoiseLate:
		return text + "a reply came after its call was given up, and was discarded", "answer sooner, or give the plugin a longer timeout"
	case wire.NoiseDuplicate, wire.NoiseStale:
		return text + "a reply that no call waits for was discarded", "answer each request once"
	case wire.NoiseWrongID:
		return text + "a reply has no id, or one that fits no call", "copy the id of the request into the reply"
	case wire.NoiseUnasked:
		return text + "a request or notification that the host does not expect was ignored", "declare it, or print it to stderr"
	}
	return "an answer to the plugin's own request could not be sent", ""
}

// spend takes one line from the budget. If none is left it counts the line as dropped and returns
// ok false. last reports whether this is the last line of the window; dropped is the number of
// lines dropped before it.
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
