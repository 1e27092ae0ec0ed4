package broker

import (
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
	// perConn is how many descriptors a connection costs the host: two sockets, and two pipes for
	// splice.
	perConn = 6

	// maxConns is the default of Options.MaxConns: far more than a client library's pool keeps
	// open.
	maxConns = 256
)

// A Grant is one destination a plugin may reach: a name or an address, and a port.
type Grant struct {
	Host string     // a DNS name, or "localhost"; empty where Addr is set
	Addr netip.Addr // may be private or loopback: the grant names it itself
	Port uint16     // 0: all ports
}

// A Denial is something the plugin tried and was not granted. As an error it is a sentence for the
// operator.
type Denial struct {
	What       string // "connection to 192.0.2.7:443", "look-up of evil.example"
	Capability string // what would have allowed it: "net:192.0.2.7:443", "net:evil.example:<port>"; or empty
	Dropped    int    // denials since the last report that were too many to be reported
}

func (d Denial) Error() string {
	if d.Capability == "" {
		return d.What
	}
	return d.What + ": grant " + d.Capability + " if you mean it"
}

// Options says what a plugin may reach, and how. The zero value lets nothing through.
type Options struct {
	Grants []Grant

	// Resolve finds the addresses of a granted name, which it is given with the dot at its end;
	// nil: the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Dial connects to an address that has been checked; nil: a net.Dialer. A connection that can
	// close its writing half has a CloseWrite method, as *net.TCPConn does.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

	// Refused says why an address is not to be reached whatever was granted, and "" where it may
	// be. It is asked once a connection to it was made, before a byte is passed on; nil: every
	// address may be reached.
	Refused func(addr netip.AddrPort) string

	// Here reports whether an address is one of this machine's own, which no firewall stands
	// before; nil: none is.
	Here func(addr netip.Addr) bool

	// OnDenied is told of denials, one after another and at most 20 a second, before the plugin
	// learns of them. It is called from a goroutine of its own: a connection waits for it no longer
	// than a moment, but Close does. It must not call Close. May be nil.
	OnDenied func(Denial)

	// Take is asked for the descriptors of each connection before it is made, and may refuse it;
	// Give is told when they are free again. Both may be nil.
	Take func(n int) error
	Give func(n int)

	MaxConns int          // at once; further ones wait in the listener's queue. 0: 256
	Log      *slog.Logger // connections that were allowed and could not be made; nil discards
}

// A Broker lets what is granted out of one plugin's namespace. It costs no goroutine until it
// serves.
type Broker struct {
	resolve  func(context.Context, string) ([]netip.Addr, error)
	dial     func(context.Context, netip.AddrPort) (net.Conn, error)
	refused  func(netip.AddrPort) string       // why not; "": it may be reached
	original func(*net.TCPConn) netip.AddrPort // where the plugin meant to go; a field for the tests, which have no redirect

	policy  *policy
	denials *denials
	log     *slog.Logger
	logged  limiter // of the log: a plugin can make dials fail as fast as it likes

	take   func(n int) error
	give   func(n int)
	slots  chan struct{} // one for each connection at once
	closed context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // one for each of sockets, and the goroutines of dialAny

	mu      sync.Mutex             // protects the field below
	sockets map[io.Closer]struct{} // those that Close must close; nil after it
}

// New makes a broker for one plugin.
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
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
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

// ServeTCP accepts the plugin's connections until Close or until l is closed. It owns l, and closes
// it in the end.
func (b *Broker) ServeTCP(l *net.TCPListener) {
	if !b.enter(l) {
		return
	}
	defer b.leave(l)
	var pause pause
	for {
		c, err := l.AcceptTCP()
		if err != nil && !b.survives(err, &pause) {
			return
		}
		if err == nil {
			pause = 0
			b.start(c)
		}
	}
}

// start serves a connection as soon as there is room for one more.
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

// enter makes c one of the sockets that Close closes and waits for. After Close it closes c and
// reports false.
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

// leave closes c, which has entered.
func (b *Broker) leave(c io.Closer) {
	c.Close()
	b.mu.Lock()
	delete(b.sockets, c)
	b.mu.Unlock()
	b.work.Done()
}

// A pause is how long to wait after an error of a socket that may recover; zero before the first.
type pause time.Duration

const (
	firstPause = pause(5 * time.Millisecond)
	lastPause  = pause(time.Second)
)

// survives reports whether a serving loop goes on after err, having waited a little where it does.
// Only a closed socket ends it: accept(2) has a dozen errors that concern one connection or pass
// by, such as too many open files, and none after which it never works again.
func (b *Broker) survives(err error, p *pause) bool {
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

// warn logs an error that a plugin may cause, and may cause often.
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
