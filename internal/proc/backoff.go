package proc

import "time"

// The defaults of Backoff. A plugin that crashed once is back at once, and one that always crashes
// costs one start every half minute.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Backoff is the wait before a process is started again: Min after the first failure, doubled with
// each further failure in a row, at most Max.
type Backoff struct {
	Min time.Duration // 0 means 100 ms
	Max time.Duration // 0 means 30 s
}

// after returns the wait after n failures in a row.
func (b Backoff) after(n int) time.Duration {
	least, most := b.Min, b.Max
	if least <= 0 {
		least = minBackoff
	}
	if most <= 0 {
		most = maxBackoff
	}
	if n <= 0 {
		return 0
	}
	wait := least
	for ; n > 1 && wait < most; n-- {
		wait *= 2
	}
	return min(wait, most)
}
