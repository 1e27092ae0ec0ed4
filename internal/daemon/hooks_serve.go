package daemon

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	hooksIdle  = 30 * time.Minute // a daemon that a hook has started ends after this time without calls
	yieldGrace = 10 * time.Minute // how long a daemon that yields answers its running events; no agent waits longer
	yieldWait  = 10 * time.Second // how long it waits for the other daemon, which may have died, to take the place
)

// HookOptions are the options of a daemon that a hook has started.
type HookOptions struct {
	Socket string        // "": the usual one
	Idle   time.Duration // 0: 30 minutes
	Ready  func(Addresses)
	Limits Limits
}

// ServeHooks answers the hooks of other agents. It returns when ctx ends, when no call has come for
// a while, or when another daemon takes the place. It listens only on the socket and runs no job.
// The caller closes the core.
func (c *Core) ServeHooks(ctx context.Context, o HookOptions) error {
	if err := c.startExport(); err != nil { // hooks are answered also without an export
		c.log.Warn("traces are not exported", "err", err)
	}
	if o.Idle == 0 {
		o.Idle = hooksIdle
	}
	if o.Socket == "" {
		var err error
		if o.Socket, err = socketPath(c.Dirs); err != nil {
			return err
		}
	}
	c.forHooks = true
	c.WriteClosed()
	at, err := c.claim(ctx, o.Socket, false)
	if err != nil {
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	d := &hookDaemon{Core: c, place: at, idle: o.Idle, life: life, yielded: make(chan struct{})}
	backend := c.backend()
	backend.Turns, backend.Jobs = nil, nil // the daemon of a hook runs no turns and no schedules
	backend.Hooks, backend.Yielder = hooks{c, true}, d
	routes := httpapi.New(httpapi.Options{Backend: backend, Version: c.version, Metrics: &c.count.all, Logger: c.log, Limits: o.Limits.Limits})
	o.Limits = o.Limits.withDefaults()
	c.at.Store(&Addresses{Socket: o.Socket})
	if o.Ready != nil {
		o.Ready(Addresses{Socket: o.Socket})
	}
	return d.serve(ctx, routes, o.Limits)
}

// A hookDaemon is a daemon that a hook has started.
type hookDaemon struct {
	*Core
	place *place
	idle  time.Duration

	life  context.Context // ends with the daemon
	calls atomic.Int64    // how many are running
	last  atomic.Int64    // when the last call ended, in nanoseconds

	yielding sync.Mutex    // held while another daemon may take the place
	yielded  chan struct{} // closed when another daemon has taken it
}

func (d *hookDaemon) serve(ctx context.Context, routes http.Handler, l Limits) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	server := d.newServer(requests, d.counted(routes), l)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(d.place) }()
	var keeping sync.WaitGroup
	watching, stop := context.WithCancel(d.life)
	keeping.Go(func() { d.keepClosed(watching) })
	defer keeping.Wait()
	defer stop()
	grace := turnGrace
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	case <-d.untilIdle(watching):
		d.log.Info("no call has come for a while: the daemon ends", "idle", d.idle)
	case <-d.yielded:
		d.log.Info("another daemon has taken the place: this one ends")
		grace = yieldGrace
	}
	d.place.leave()
	pause.For(context.WithoutCancel(ctx), lastCalls) // calls that have connected are still accepted
	err := d.endServing(server, endRequests, grace)
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// counted counts the running calls, and notes when the last one ended.
func (d *hookDaemon) counted(next http.Handler) http.Handler {
	d.last.Store(time.Now().UnixNano())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.calls.Add(1)
		defer func() {
			d.last.Store(time.Now().UnixNano())
			d.calls.Add(-1)
		}()
		next.ServeHTTP(w, r)
	})
}

// untilIdle returns a channel that is closed when no call has come for d.idle.
func (d *hookDaemon) untilIdle(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		for {
			left := d.idle - time.Since(time.Unix(0, d.last.Load()))
			if left <= 0 && d.calls.Load() == 0 {
				close(over)
				return
			}
			if pause.For(ctx, max(left, time.Second)) != nil {
				return
			}
		}
	}()
	return over
}

// Yield implements [httpapi.Yielder]. The other daemon has the claim and takes the place next. If
// it does not, this daemon goes on.
func (d *hookDaemon) Yield(_ context.Context, r httpapi.YieldRequest) error {
	if !r.Serve && r.Version == d.version || !d.yielding.TryLock() {
		return httpapi.ErrNoYield
	}
	go d.awaitOther()
	return nil
}

// awaitOther waits until another daemon has taken the place. After that, Yield refuses all others.
func (d *hookDaemon) awaitOther() {
	ctx, cancel := context.WithTimeout(d.life, yieldWait)
	defer cancel()
	for pause.For(ctx, 5*time.Millisecond) == nil {
		if d.place.taken() {
			close(d.yielded)
			return
		}
	}
	d.yielding.Unlock()
}
