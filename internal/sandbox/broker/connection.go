package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

const (
	// helloTime is how long a plugin may take to send its TLS hello. Clients send it as soon as
	// they are connected.
	helloTime = 10 * time.Second

	// connectTime is how long resolving and dialling may take together. Clients give up after about
	// the same time.
	connectTime = 30 * time.Second

	httpsPort = 443
)

// errGone means that the plugin closed its connection before it sent a complete hello. That is
// neither a denial nor a fault.
var errGone = errors.New("closed before use")

// serve handles one connection of the plugin until both sides have closed it.
func (b *Broker) serve(c *net.TCPConn) {
	up, hello, err := b.open(c)
	if err != nil {
		b.refuse(c, err)
		return
	}
	if b.enter(up) {
		defer b.leave(up)
		relay(c, up, hello)
	}
}

// open connects to the destination of the plugin's connection c. It also returns the bytes that it
// has already read from c.
func (b *Broker) open(c *net.TCPConn) (up net.Conn, hello []byte, err error) {
	t, err := b.policy.target(b.original(c))
	if err != nil {
		return nil, nil, err
	}
	if t.name != "" && t.port == httpsPort {
		if hello, err = b.checkHello(c, t); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(b.closed, connectTime)
	defer cancel()
	up, err = b.connect(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	return up, hello, nil
}

// refuse resets a connection of the plugin, and reports or logs the reason. It does nothing if the
// plugin itself has closed the connection.
func (b *Broker) refuse(c *net.TCPConn, err error) {
	var denied Denial
	switch {
	case errors.Is(err, errGone):
		return
	case errors.As(err, &denied):
		b.denials.add(denied)
	case b.closed.Err() == nil:
		b.warn("sandbox connection not made", err)
	}
	_ = reset(c) // nothing can be done if it cannot be closed
}

// checkHello reads the TLS hello from c and checks that it is for the granted name, because other
// names may be served from the same address. It returns the bytes that it read.
func (b *Broker) checkHello(c *net.TCPConn, t target) ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return nil, err
	}
	raw, hello, err := readHello(c)
	if err == nil {
		err = b.policy.checkName(hello, t)
	}
	if err != nil {
		return nil, explainHello(err, t)
	}
	return raw, c.SetReadDeadline(time.Time{})
}

// explainHello turns the error of reading or checking a hello into a Denial where the plugin is the
// cause.
func explainHello(err error, t target) error {
	switch {
	case errors.As(err, new(Denial)):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Denial{What: fmt.Sprintf("connection to %s without a TLS hello for %s", t, helloTime)}
	case errors.Is(err, errNoTLS), errors.Is(err, errMalformed), errors.Is(err, errNoName), errors.Is(err, errEncrypted):
		return Denial{What: fmt.Sprintf("%s to %s", err, t)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errGone
	}
	return fmt.Errorf("tls hello to %s: %w", t, err)
}

// checkName compares the name in a hello with the granted name.
func (p *policy) checkName(hello []byte, t target) error {
	name, err := serverName(hello)
	if err != nil {
		return err
	}
	name = cleanName(name)
	if name == t.name {
		return nil
	}
	printed, capability := printName(name, "443")
	if p.names[name].has(t.port) {
		capability = "" // it is granted, but the plugin must connect to that name
	}
	return Denial{What: fmt.Sprintf("TLS for %s over a connection to %s", printed, t), Capability: capability}
}

// localAddress returns the address at which c was accepted.
func localAddress(c *net.TCPConn) netip.AddrPort {
	a, ok := c.LocalAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	local := a.AddrPort()
	return netip.AddrPortFrom(local.Addr().Unmap(), local.Port())
}
