package limits

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// share is which part of the descriptors that the host may have are for plugins: the rest is for
// clients of the daemon, the engine, the model, and whatever program the host is part of.
const share = 4

// Descriptors are the file descriptors of the host that plugins cost it, all together: their pipes,
// and the connections of those whose network is confined. It is safe for concurrent use; nil has no
// limit.
type Descriptors struct {
	limit func() int // how many there may be; 0: no limit
	used  atomic.Int64
}

// HostDescriptors allows a quarter of the host's own limit. It is looked up when the first process
// is started.
func HostDescriptors() *Descriptors {
	return &Descriptors{limit: sync.OnceValue(func() int { return ownDescriptors() / share })}
}

// NewDescriptors allows so many.
func NewDescriptors(limit int) *Descriptors {
	return &Descriptors{limit: func() int { return limit }}
}

// Take takes n descriptors. The error, a *[TooManyError], says that there would be too many, and
// what mends it.
func (d *Descriptors) Take(n int) error {
	if d == nil {
		return nil
	}
	used := d.used.Add(int64(n))
	if limit := d.limit(); limit > 0 && used > int64(limit) {
		d.used.Add(-int64(n))
		return &TooManyError{limit: limit}
	}
	return nil
}

// Give gives back what Take took.
func (d *Descriptors) Give(n int) {
	if d != nil {
		d.used.Add(-int64(n))
	}
}

// Plenty reports whether at least half of what may be taken is left: for what is of use, and not
// needed.
func (d *Descriptors) Plenty() bool {
	limit := d.limit()
	return limit <= 0 || 2*d.Used() <= limit
}

// Used is how many are taken.
func (d *Descriptors) Used() int { return int(d.used.Load()) }

// TooManyError says that plugins would cost the host too many descriptors.
type TooManyError struct{ limit int }

// Error says how many there may be.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("the plugins together would take more than %d file descriptors of the host, a quarter of its limit; raise that with ulimit -n",
		e.limit)
}

// Fix is what raises the limit.
func (e *TooManyError) Fix() string {
	return fmt.Sprintf("before the host starts: ulimit -n %d (or LimitNOFILE= of its service)", 4*share*e.limit)
}
