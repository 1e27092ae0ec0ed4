package daemon

import "time"

// A plugin may say so much at once, and then so little as fills some twenty megabytes in the week
// that the journal keeps: its log has the rest.
const (
	burst       = 30
	refillEvery = 10 * time.Second
)

// A budgetKey is one kind of event of one plugin.
type budgetKey struct{ kind, dialect, plugin string }

// A budget is how many events may be kept. It is protected by its owner's lock.
type budget struct {
	tokens int
	at     time.Time // when the tokens were counted
	left   int       // events that were left out
	timer  *time.Timer
}

// spend takes a token, if there is one, and says how many events were left out before.
func (b *budget) spend(now time.Time) (left int, ok bool) {
	if n := int(now.Sub(b.at) / refillEvery); n > 0 {
		b.tokens = min(b.tokens+n, burst)
		b.at = b.at.Add(time.Duration(n) * refillEvery)
	}
	if b.tokens == 0 {
		return 0, false
	}
	b.tokens--
	left, b.left = b.left, 0
	return left, true
}

// leaveOut counts events that were left out, and has somebody say so later.
func (b *budget) leaveOut(n int, tell func()) {
	b.left += n
	switch {
	case b.timer == nil:
		b.timer = time.AfterFunc(refillEvery, tell)
	case b.left == n:
		b.timer.Reset(refillEvery)
	}
}
