package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// perConn is the number of descriptors that a connection costs the host: two sockets, and two
	// pipes for splice.
	perConn = 6

	// maxConns is the default of Options.MaxConns. It is far more than the pool of a client library
	// keeps open.
	maxConns = 256
)

// A Grant is one destination that a plugin may reach: a name or an address, and a port.
type Grant struct {
	Host string     // a DNS name, or "localhost"; empty if Addr is set
	Addr netip.Addr // may be private or loopback, because the grant names it explicitly
	Port uint16     // 0: all ports
}

// A Denial is an attempt of the plugin that was not granted. As an error it is a sentence for the
// operator.
type Denial struct {
	What       string // "connection to 192.0.2.7:443", "look-up of evil.example"
	Capability string // the capability that would have allowed it: "net:192.0.2.7:443", "net:evil.example:<port>"; may be empty
	Dropped    int    // the number of denials since the last report that exceeded the rate limit
}

func (d Denial) Error() string {
	if d.Capability == "" {
		return d.What
	}
	return d.What + ": to allow it, grant " + d.Capability
}

// Options says what a plugin may reach, and how. The zero value lets nothing through.
type Options struct {
	Grants []Grant

	// Resolve returns the addresses of a granted name, which ends with a dot. If it is nil, the
	// system's resolver is used.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Dial connects to an address that has been checked. If it is nil, a net.Dialer is used. A
	// connection that can close its writing half has a CloseWrite method, as *net.TCPConn does.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

	// Refused returns why an address must not be reached whatever was granted, or "" if it may be.
	// It is called after the connection was made and before a byte is passed on. If it is nil, no
	// address is refused.
	Refused func(addr netip.AddrPort) string

	// Here reports whether an address is one of this machine's own, which no firewall protects from
	// this machine. If it is nil, no address is.
	Here func(addr netip.Addr) bool

	// OnDenied is called with denials, one at a time and at most 20 times a second; further ones
	// are only counted. It runs on its own goroutine. A connection is refused when OnDenied has
	// returned, or after a moment. Close waits until OnDenied returns, so OnDenied must not call
	// Close. It may be nil.
	OnDenied func(Denial)

	// Take is called with the number of descriptors before each connection is made, and may refuse
	// it. Give is called when they are free again. Both may be nil.
	Take func(n int) error
	Give func(n int)

	MaxConns int          // at once; further ones wait in the listener's queue; 0 means 256
	Log      *slog.Logger // receives connections that were allowed but failed; nil discards
}

// A Broker passes the granted names and connections of one plugin out of its network namespace. It
// starts no goroutine until it serves.
type Broker struct {
	resolve  func(context.Context, string) ([]netip.Addr, error)
	dial     func(context.Context, netip.AddrPort) (net.Conn, error)
	refused  func(netip.AddrPort) string       // returns why an address is refused; "" if it is not
	original func(*net.TCPConn) netip.AddrPort // the destination that the plugin used; a field because tests have no redirect

	policy  *policy
	denials *denials
	log     *slog.Logger
	logged  limiter // limits the log, because a plugin can make dials fail as fast as it likes

	take   func(n int) error
	give   func(n int)
	slots  chan struct{} // holds one element for each open connection
	closed context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // counts the entries of sockets, and the goroutines of dialAny

	mu      sync.Mutex             // protects sockets
	sockets map[io.Closer]struct{} // the sockets that Close closes; nil after Close
}

// New returns a broker for one plugin.
func New(o Options) *Broker {
	b := &Broker{
		resolve: o.Resolve, dial: o.Dial, refused: o.Refused, original: originalDestination,
		policy: newPolicy(o.Grants), log: o.Log, sockets: map[io.Closer]struct{}{},
	}
	b.policy.here = o.Here
	if b.resolve == nil {
		b.resolve = systemResolve
	}
	if b.dial == nil {
		b.dial = systemDial
	}
	if b.refused == nil {
		b.refused = func(netip.AddrPort) string { return "" }
	}
	b.log = cmp.Or(b.log, slog.New(slog.DiscardHandler))
	if b.take = o.Take; b.take == nil {
		b.take = func(int) error { return nil }
	}
	if b.give = o.Give; b.give == nil {
		b.give = func(int) {}
	}
	if o.MaxConns <= 0 {
		o.MaxConns = maxConns
	}
	b.slots = make(chan struct{}, o.MaxConns)
	b.denials = newDenials(o.OnDenied)
	b.closed, b.cancel = context.WithCancel(context.Background())
	return b
}

// ServeTCP accepts the plugin's connections until Close is called or l is closed. It owns l and
// closes it in the end.
func (b *Broker) ServeTCP(l *net.TCPListener) {
	if !b.enter(l) {
		return
	}
	defer b.leave(l)
	var pause pause
	for {
		c, err := l.AcceptTCP()
		if err != nil && !b.pauseAfter(err, &pause) {
			return
		}
		if err == nil {
			pause = 0
			b.start(c)
		}
	}
}

// start serves a connection, and waits first if there are too many.
func (b *Broker) start(c *net.TCPConn) {
	if !b.enter(c) {
		return
	}
	select {
	case b.slots <- struct{}{}:
	case <-b.closed.Done():
		b.leave(c)
		return
	}
	go func() {
		defer func() { <-b.slots }()
		err := b.take(perConn)
		if err == nil {
			defer b.give(perConn)
		}
		defer b.leave(c)
		if err != nil {
			b.refuse(c, err)
			return
		}
		b.serve(c)
	}()
}

// Close resets every connection, ends every Serve call, and waits for them.
func (b *Broker) Close() error {
	b.cancel()
	b.mu.Lock()
	sockets := b.sockets
	b.sockets = nil
	b.mu.Unlock()
	var errs []error
	for c := range sockets {
		if err := reset(c); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	b.work.Wait()
	b.denials.close()
	return errors.Join(errs...)
}

// enter adds c to the sockets that Close closes and waits for. After Close it closes c and returns
// false.
func (b *Broker) enter(c io.Closer) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sockets == nil {
		c.Close()
		return false
	}
	b.sockets[c] = struct{}{}
	b.work.Add(1)
	return true
}

// leave closes c and removes it from the sockets.
func (b *Broker) leave(c io.Closer) {
	c.Close()
	b.mu.Lock()
	delete(b.sockets, c)
	b.mu.Unlock()
	b.work.Done()
}

// A pause is the time to wait after an error of a socket that may recover. It is zero before the
// first error.
type pause time.Duration

const (
	firstPause = pause(5 * time.Millisecond)
	lastPause  = pause(time.Second)
)

// pauseAfter reports whether a serving loop goes on after err, and waits a little if it does. Only
// a closed socket ends the loop: accept(2) has a dozen errors that concern one connection or are
// temporary, such as too many open files, and none that is permanent.
func (b *Broker) pauseAfter(err error, p *pause) bool {
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	if *p == 0 {
		b.warn("sandbox socket", err)
	}
	*p = min(max(firstPause, 2**p), lastPause)
	select {
	case <-time.After(time.Duration(*p)):
		return true
	case <-b.closed.Done():
		return false
	}
}

// warn logs an error that a plugin can cause often, limited in rate.
func (b *Broker) warn(message string, err error) {
	ok, dropped := b.logged.allow(time.Now())
	if !ok {
		return
	}
	if dropped > 0 {
		err = fmt.Errorf("%w (%d more before it)", err, dropped)
	}
	b.log.Warn(message, "err", err)
}
