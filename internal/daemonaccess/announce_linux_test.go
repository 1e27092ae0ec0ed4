package daemonaccess

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func announce(t *testing.T, address string) *Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("no such address here: ", err)
	}
	d, err := Announce(l.(*net.TCPListener))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// ownAddress returns an address of this machine that is not loopback.
func ownAddress(t *testing.T) netip.Addr {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() && p.Addr().Is4() {
			return p.Addr()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return netip.Addr{}
}

func TestAt(t *testing.T) {
	for _, c := range []struct {
		rule, listen, dial string
		want               bool
	}{
		{"the address at which it listens", "127.0.0.1:0", "127.0.0.1", true},
		{"its address written as IPv6", "127.0.0.1:0", "::ffff:127.0.0.1", true},
		{"0.0.0.0, which Linux treats as loopback", "127.0.0.1:0", "0.0.0.0", true},
		{"not at another loopback address", "127.0.0.1:0", "127.0.0.2", false},
		{"not at the IPv6 loopback address", "127.0.0.1:0", "::1", false},
		{"IPv6", "[::1]:0", "::1", true},
		{"::, which Linux treats as loopback", "[::1]:0", "::", true},
		{"all addresses: loopback", "0.0.0.0:0", "127.0.0.1", true},
		{"all addresses: another loopback one", "0.0.0.0:0", "127.7.7.7", true},
		{"all addresses: the machine's own", "0.0.0.0:0", "OWN", true},
		{"all addresses of IPv6: IPv4", "[::]:0", "127.0.0.1", true},
		{"all addresses of IPv6: the machine's own", "[::]:0", "OWN", true},
		{"all addresses: not another machine's", "0.0.0.0:0", "192.0.2.1", false},
		{"the machine's own", "OWN:0", "OWN", true},
		{"the machine's own: not loopback", "OWN:0", "127.0.0.1", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if strings.Contains(c.listen+c.dial, "OWN") {
				own := ownAddress(t).String()
				c.listen, c.dial = strings.Replace(c.listen, "OWN", own, 1), strings.Replace(c.dial, "OWN", own, 1)
			}
			d := announce(t, c.listen)
			addr := netip.AddrPortFrom(netip.MustParseAddr(c.dial), addrOf(d.Addr()).Port())
			if got, err := At(addr); err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
			if got, err := At(netip.AddrPortFrom(addr.Addr(), addr.Port()^1)); err != nil || got {
				t.Errorf("at another port: %v, %v", got, err)
			}
			_ = d.Close()
			if got, err := At(addr); err != nil || got {
				t.Errorf("after the daemon's end: %v, %v", got, err)
			}
		})
	}
}

func TestHere(t *testing.T) {
	for _, c := range []struct {
		addr string
		want bool
	}{{"127.0.0.1", true}, {"::1", true}, {"0.0.0.0", true}, {"OWN", true}, {"192.0.2.1", false}, {"2001:db8::1", false}} {
		t.Run(c.addr, func(t *testing.T) {
			if c.addr == "OWN" {
				c.addr = ownAddress(t).String()
			}
			if got := Here(netip.MustParseAddr(c.addr)); got != c.want {
				t.Errorf("%t", got)
			}
		})
	}
}

// TestConnectionsBeforeTheAnnouncement: connections that were made between listening and the
// announcement are closed, because a broker that made one found no daemon.
func TestConnectionsBeforeTheAnnouncement(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	early, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	if found, err := At(addrOf(l.Addr())); found || err != nil {
		t.Fatalf("%v, %v", found, err)
	}
	d, err := Announce(l.(*net.TCPListener))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_ = early.SetReadDeadline(time.Now().Add(patience))
	if _, err := early.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the early connection: %v, want its end", err)
	}
	late, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	_ = d.SetDeadline(time.Now().Add(patience))
	conn, err := d.Accept()
	if err != nil {
		t.Fatal("the late connection: ", err)
	}
	conn.Close()
}

// TestNamesOfOtherPrograms: a name that looks like an announcement but contains no address is
// ignored.
func TestNamesOfOtherPrograms(t *testing.T) {
	for _, name := range []string{"", "x", "127.0.0.1", "127.0.0.1:99999/x", "/127.0.0.1:1"} {
		f, err := bindName(namePrefix + name + "/stranger")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	err := announced(func(a netip.AddrPort) {
		if a.Port() == 1 || !a.Addr().IsValid() {
			t.Errorf("%s is reported as a daemon", a)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// FuzzParseSocket: a line of the kernel's table is parsed or is an error.
func FuzzParseSocket(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("  0: 0100007F:1F40 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0000000000000000 20 4 30 10 -1")
	f.Add("")
	f.Add("a b c d e f g -1 h 5")
	f.Fuzz(func(t *testing.T, line string) {
		if s, err := parseSocket(line, "table"); err == nil && len(strings.Fields(line)) < 10 {
			t.Errorf("%q is %+v", line, s)
		}
	})
}
