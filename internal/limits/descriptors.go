package limits

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// share is the divisor for the part of the host's descriptors that plugins may use. The rest is for
// clients of the daemon, the engine, the connections to a language model, and the program that
// embeds the host.
const share = 4

// Descriptors counts the host's file descriptors that all its plugins use together: for their
// pipes, and for the connections of those with a confined network. It is safe for concurrent use.
// Take and Give of a nil *Descriptors do nothing.
type Descriptors struct {
	limit func() int // returns how many there may be; 0 means no limit
	used  atomic.Int64
}

// HostDescriptors returns a Descriptors that allows a quarter of the host's own limit, which it
// reads when the first process is started.
func HostDescriptors() *Descriptors {
	return &Descriptors{limit: sync.OnceValue(func() int { return ownDescriptors() / share })}
}

// NewDescriptors returns a Descriptors that allows limit descriptors.
func NewDescriptors(limit int) *Descriptors {
	return &Descriptors{limit: func() int { return limit }}
}

// Take takes n descriptors. If there would be too many, it returns a *[TooManyError], which also
// says how to fix it.
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

// Give gives n descriptors back.
func (d *Descriptors) Give(n int) {
	if d != nil {
		d.used.Add(-int64(n))
	}
}

// Plenty reports whether at least half of the allowed descriptors are left. It is for uses that are
// not strictly needed.
func (d *Descriptors) Plenty() bool {
	limit := d.limit()
	return limit <= 0 || 2*d.Used() <= limit
}

// Used returns how many are taken.
func (d *Descriptors) Used() int { return int(d.used.Load()) }

// A TooManyError says that plugins would use too many of the host's descriptors.
type TooManyError struct{ limit int }

// Error returns the reason with the limit.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("the plugins together would take more than %d file descriptors of the host, a quarter of its limit", e.limit)
}

// Fix returns the command that raises the limit.
func (e *TooManyError) Fix() string {
	return fmt.Sprintf("before the host starts: ulimit -n %d (or LimitNOFILE= of its service)", 4*share*e.limit)
}
