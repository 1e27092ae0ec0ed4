package broker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that must happen.
const patience = time.Minute

// A kit is a broker on real sockets, with a plugin that connects to it. There is no redirect in
// tests: dst takes its place.
type kit struct {
	t       *testing.T
	b       *Broker
	listen  *net.TCPListener
	denials chan Denial

	mu     sync.Mutex // protects the field below
	dialed []netip.AddrPort
}

// newKit serves a plugin whose connections are all for dst. All dials go to server, unless o has
// its own Dial.
func newKit(t *testing.T, o Options, dst, server string) *kit {
	t.Helper()
	k := &kit{t: t, denials: make(chan Denial, 100)}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		}
	}
	dial := o.Dial
	o.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		k.mu.Lock()
		k.dialed = append(k.dialed, a)
		k.mu.Unlock()
		return dial(ctx, a)
	}
	o.OnDenied = func(d Denial) { k.denials <- d }
	k.b = New(o)
	addr := netip.MustParseAddrPort(dst)
	k.b.original = func(*net.TCPConn) netip.AddrPort { return addr }
	k.listen = listen(t)
	served := make(chan struct{})
	go func() { defer close(served); k.b.ServeTCP(k.listen) }()
	t.Cleanup(func() {
		if err := k.b.Close(); err != nil {
			t.Error(err)
		}
		wait(t, served, "ServeTCP to return")
	})
	return k
}

func listen(t testing.TB) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// connect connects as the plugin.
func (k *kit) connect() *net.TCPConn {
	k.t.Helper()
	c, err := net.Dial("tcp", k.listen.Addr().String())
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		k.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// wantRefused checks that a connection is reset: either connect(2) fails, or reading does.
func (k *kit) wantRefused() {
	k.t.Helper()
	c, err := net.Dial("tcp", k.listen.Addr().String())
	switch {
	case errors.Is(err, syscall.ECONNRESET):
	case err != nil:
		k.t.Fatal(err)
	default:
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		k.wantReset(c)
	}
}

// talk sends a line to an echoing server and checks that it comes back.
func (k *kit) talk(c net.Conn) {
	k.t.Helper()
	if _, err := c.Write([]byte("hello")); err != nil {
		k.t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "hello" {
		k.t.Fatalf("echo %q, %v", buf, err)
	}
}

// wantReset checks that c is reset and does not just end: an end would look like an answer of the
// server.
func (k *kit) wantReset(c net.Conn) {
	k.t.Helper()
	_, err := c.Read(make([]byte, 1))
	if err == nil || errors.Is(err, io.EOF) || isTimeout(err) {
		k.t.Fatalf("read from a refused connection: %v, want a reset", err)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// wantDenial checks that exactly this denial comes next.
func (k *kit) wantDenial(what, capability string) {
	k.t.Helper()
	select {
	case d := <-k.denials:
		if d.What != what || d.Capability != capability {
			k.t.Errorf("denial\n %q, %q, want\n %q, %q", d.What, d.Capability, what, capability)
		}
	case <-time.After(patience):
		k.t.Fatal("no denial")
	}
}

// wantNoDenial closes the broker and checks that there was no further denial.
func (k *kit) wantNoDenial() {
	k.t.Helper()
	if err := k.b.Close(); err != nil {
		k.t.Error(err)
	}
	select {
	case d := <-k.denials:
		k.t.Errorf("denial %q", d.Error())
	default:
	}
}

func (k *kit) wantDialed(want ...string) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	got := k.dialed
	if len(got) != len(want) {
		k.t.Fatalf("dialled %v, want %v", got, want)
	}
	for i, a := range got {
		if a.String() != want[i] {
			k.t.Fatalf("dialled %v, want %v", got, want)
		}
	}
}

func wait(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("timed out waiting for", what)
	}
}

// serve runs a server and returns its address. The server calls each with every connection.
func serve(t testing.TB, each func(*net.TCPConn)) string {
	t.Helper()
	l := listen(t)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			work.Go(func() { defer c.Close(); each(c) })
		}
	})
	t.Cleanup(func() { l.Close(); work.Wait() })
	return l.Addr().String()
}

func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// resolveTo returns a resolver that answers every look-up with these addresses.
func resolveTo(addrs ...string) func(context.Context, string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, a := range addrs {
		found = append(found, netip.MustParseAddr(a))
	}
	return func(context.Context, string) ([]netip.Addr, error) { return found, nil }
}
