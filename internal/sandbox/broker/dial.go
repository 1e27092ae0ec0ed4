package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const (
	// dialTime is how long a connection to one address may take.
	dialTime = 10 * time.Second

	// headStart is how long an address is tried alone before the next one is tried beside it: the
	// "Connection Attempt Delay" of RFC 8305, with the value recommended there.
	headStart = 250 * time.Millisecond

	// maxAddrs bounds the addresses of one name that are tried. The owner of the name decides how
	// many there are.
	maxAddrs = 8
)

var errNoAddress = errors.New("the name has no address")

func systemResolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func systemDial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTime}
	return d.DialContext(ctx, "tcp", addr.String())
}

// connect dials a target.
func (b *Broker) connect(ctx context.Context, t target) (net.Conn, error) {
	addrs, err := b.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	up, err := b.dialAny(ctx, addrs)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", t, err)
	}
	return up, nil
}

// addresses returns the addresses to dial for a target, the best one first.
func (b *Broker) addresses(ctx context.Context, t target) ([]netip.AddrPort, error) {
	if t.name == "" {
		return b.policy.siblings(t), nil
	}
	// The dot at the end makes the name absolute. Without it the system's resolver would also try
	// the name below the search domains of resolv.conf, which were not granted.
	found, err := b.resolve(ctx, t.name+".")
	if err == nil && len(found) == 0 {
		err = errNoAddress
	}
	if err != nil {
		return nil, fmt.Errorf("look-up of %s: %w", t.name, err)
	}
	usable, denied := b.policy.usable(t, found)
	var d Denial
	switch {
	case len(usable) == 0:
		return nil, denied
	case errors.As(denied, &d):
		b.denials.add(d) // the others are tried, but a name with addresses of both kinds is worth reporting
	}
	return interleave(usable), nil
}

// siblings returns the addresses to dial for a granted address: itself, and for a loopback address
// the one of the other family, if that is granted too. In the plugin's namespace every connection
// succeeds at first, so the plugin cannot find out on which of the two a server listens.
func (p *policy) siblings(t target) []netip.AddrPort {
	addrs := []netip.AddrPort{netip.AddrPortFrom(t.addr, t.port)}
	var other netip.Addr
	switch t.addr {
	case loopback4:
		other = loopback6
	case loopback6:
		other = loopback4
	}
	if p.addrs[other].has(t.port) {
		addrs = append(addrs, netip.AddrPortFrom(other, t.port))
	}
	return addrs
}

// interleave alternates between the two address families, beginning with that of the first address,
// and cuts the list to maxAddrs. If a family does not work here, it costs one headStart and not one
// for each of its addresses (RFC 8305, section 4).
func interleave(addrs []netip.AddrPort) []netip.AddrPort {
	var own, other []netip.AddrPort
	for _, a := range addrs {
		if a.Addr().Is4() == addrs[0].Addr().Is4() {
			own = append(own, a)
		} else {
			other = append(other, a)
		}
	}
	mixed := make([]netip.AddrPort, 0, len(addrs))
	for i := range max(len(own), len(other)) {
		mixed = append(mixed, own[min(i, len(own)):min(i+1, len(own))]...)
		mixed = append(mixed, other[min(i, len(other)):min(i+1, len(other))]...)
	}
	return mixed[:min(len(mixed), maxAddrs)]
}

// A dialled is the result of one attempt.
type dialled struct {
	conn net.Conn
	err  error
}

// dialAny connects to the first address that answers. The next one is tried when the previous has
// failed, or after headStart.
func (b *Broker) dialAny(ctx context.Context, addrs []netip.AddrPort) (net.Conn, error) {
	if len(addrs) == 1 {
		return b.dialOne(ctx, addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialled)
	try := func() {
		addr := addrs[0]
		addrs = addrs[1:]
		b.work.Go(func() {
			conn, err := b.dialOne(ctx, addr)
			deliver(ctx, results, dialled{conn, err})
		})
	}
	try()
	timer := time.NewTimer(headStart)
	defer timer.Stop()
	var errs []error
	for pending := 1; pending > 0; {
		select {
		case d := <-results:
			if d.err == nil {
				return d.conn, nil
			}
			errs = append(errs, d.err)
			pending--
		case <-timer.C:
		case <-ctx.Done():
			return nil, errors.Join(append(errs, ctx.Err())...)
		}
		if len(addrs) > 0 {
			try()
			pending++
			timer.Reset(headStart)
		}
	}
	return nil, errors.Join(errs...)
}

// dialOne connects to an address, and closes the connection if Options.Refused refuses the address.
// It checks afterwards, because another process may have begun to listen there just before the
// connection was made.
func (b *Broker) dialOne(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	conn, err := b.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	if why := b.refused(addr); why != "" {
		conn.Close()
		return nil, Denial{What: "connection to " + addr.String() + ", " + why}
	}
	return conn, nil
}

// deliver sends the result of an attempt, or closes its connection if another attempt was faster.
func deliver(ctx context.Context, to chan<- dialled, d dialled) {
	select {
	case to <- d:
	case <-ctx.Done():
		if d.conn != nil {
			d.conn.Close()
		}
	}
}
