package daemon

import "time"

// A plugin may write burst events of one kind at once, and then one every refillEvery. At that rate
// its events of that kind fill about twenty megabytes in the week for which the journal stores
// them. Log lines that are left out of the journal are still in the plugin's log.
const (
	burst       = 30
	refillEvery = 10 * time.Second
)

// A budgetKey identifies one kind of event of one plugin.
type budgetKey struct{ kind, dialect, plugin string }

// A budget counts how many events a plugin may still write. Its owner's lock protects it.
type budget struct {
	tokens int
	at     time.Time // when tokens was last updated
	left   int       // how many events were left out
	timer  *time.Timer
}

// spend takes a token. It returns how many events were left out before, and false if there is no
// token.
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

// leaveOut counts events that were left out, and calls tell later to report them.
func (b *budget) leaveOut(n int, tell func()) {
	b.left += n
	switch {
	case b.timer == nil:
		b.timer = time.AfterFunc(refillEvery, tell)
	case b.left == n:
		b.timer.Reset(refillEvery)
	}
}
