package proc

import (
	"fmt"
	"sync"
	"sync/atomic"
)

const (
	// perProcess is what a process costs the host: three pipes, and two by which the process is known and watched (on
	// Linux; elsewhere it has none, and is counted alike).
	perProcess = 5

	// perBox is what its box costs beside that: the control socket.
	perBox = 1

	// share is which part of the descriptors that the host may have are for plugins: the rest is for clients of the daemon, the
	// engine, the model, and whatever program the host is part of.
	share = 4
)

// Descriptors are the file descriptors of the host that plugins cost it, all together: their pipes, and the connections of
// those whose network is confined. It is safe for concurrent use; nil has no limit.
type Descriptors struct {
	limit func() int // how many there may be; 0: no limit
	used  atomic.Int64
}

// newDescriptors allows a quarter of the host's own limit. It is looked up when the first process is started.
func newDescriptors() *Descriptors {
	return &Descriptors{limit: sync.OnceValue(func() int { return ownDescriptors() / share })}
}

// Take takes n descriptors. The error says that there would be too many, and what mends it.
func (d *Descriptors) Take(n int) error {
	if d == nil {
		return nil
	}
	used := d.used.Add(int64(n))
	if limit := d.limit(); limit > 0 && used > int64(limit) {
		d.used.Add(-int64(n))
		return &tooManyError{limit: limit}
	}
	return nil
}

// Give gives back what Take took.
func (d *Descriptors) Give(n int) {
	if d != nil {
		d.used.Add(-int64(n))
	}
}

// Used is how many are taken.
func (d *Descriptors) Used() int { return int(d.used.Load()) }

// tooManyError says that plugins would cost the host too many descriptors.
type tooManyError struct{ limit int }

func (e *tooManyError) Error() string {
	return fmt.Sprintf("the plugins together would take more than %d file descriptors of the host, a quarter of its limit; raise that with ulimit -n",
		e.limit)
}

func (e *tooManyError) fix() string {
	return fmt.Sprintf("before the host starts: ulimit -n %d (or LimitNOFILE= of its service)", 4*share*e.limit)
}

// descriptors is how many a process of this kind costs the host.
func (s Spec) descriptors() int {
	if s.Box != nil {
		return perProcess + perBox
	}
	return perProcess
}

// takeFor takes the descriptors of a process that is about to be started.
func (g *Group) takeFor(s Spec, c command) error {
	if err := g.descriptors.Take(s.descriptors()); err != nil {
		why, fix := fromError(err, c.file)
		return &StartError{Path: c.file, Why: why, Fix: fix, Err: err}
	}
	return nil
}
