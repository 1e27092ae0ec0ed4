package broker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// fake is the address that the first granted name gets.
const fake = "198.18.0.1"

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func named(port uint16) []Grant { return []Grant{{Host: "api.example", Port: port}} }

func TestWhoIsReached(t *testing.T) {
	echoing := serve(t, echo)
	for _, c := range []struct {
		rule     string
		grants   []Grant
		dst      string
		resolved []string
		dialed   []string
	}{
		{"a granted address", []Grant{{Addr: ip("192.0.2.7"), Port: 80}}, "192.0.2.7:80", nil, []string{"192.0.2.7:80"}},
		{"a granted private address", []Grant{{Addr: ip("10.0.0.7"), Port: 80}}, "10.0.0.7:80", nil, []string{"10.0.0.7:80"}},
		{"a granted IPv6 address", []Grant{{Addr: ip("2001:db8::1"), Port: 80}}, "[2001:db8::1]:80", nil, []string{"[2001:db8::1]:80"}},
		{"a grant whose host is an address", []Grant{{Host: "192.0.2.7", Port: 80}}, "192.0.2.7:80", nil, []string{"192.0.2.7:80"}},
		{"an address is the same when mapped into IPv6", []Grant{{Addr: ip("::ffff:192.0.2.7"), Port: 80}}, "192.0.2.7:80", nil, []string{"192.0.2.7:80"}},
		{"port 443 of an address needs no TLS", []Grant{{Addr: ip("192.0.2.7"), Port: 443}}, "192.0.2.7:443", nil, []string{"192.0.2.7:443"}},
		{"port 0 grants all ports", named(0), fake + ":8080", []string{"192.0.2.7"}, []string{"192.0.2.7:8080"}},
		{"a name is dialled by its checked address", named(80), fake + ":80", []string{"192.0.2.7"}, []string{"192.0.2.7:80"}},
		{"a grant's case and last dot do not matter", []Grant{{Host: "API.Example.", Port: 80}}, fake + ":80", []string{"192.0.2.7"}, []string{"192.0.2.7:80"}},
		{"localhost by 127.0.0.1", []Grant{{Host: "localhost", Port: 80}}, "127.0.0.1:80", nil, []string{"127.0.0.1:80"}},
		{"localhost by ::1", []Grant{{Host: "localhost", Port: 80}}, "[::1]:80", nil, []string{"[::1]:80"}},
		{"a private address behind a name, granted for itself", append(named(80), Grant{Addr: ip("10.0.0.7"), Port: 80}),
			fake + ":80", []string{"10.0.0.7"}, []string{"10.0.0.7:80"}},
		{"a fake address gives way to a grant", append(named(80), Grant{Addr: ip(fake), Port: 80}), fake + ":80", nil, []string{fake + ":80"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			k := newKit(t, Options{Grants: c.grants, Resolve: resolveTo(c.resolved...)}, c.dst, echoing)
			k.talk(k.connect())
			k.wantDialed(c.dialed...)
			k.wantNoDenial()
		})
	}
}

func TestWhoIsNotReached(t *testing.T) {
	for _, c := range []struct {
		rule, dst        string
		grants           []Grant
		resolved         []string
		what, capability string
	}{
		{"an address that is not granted", "192.0.2.7:443", named(0), nil, "connection to 192.0.2.7:443", "net:192.0.2.7:443"},
		{"an IPv6 address that is not granted", "[2001:db8::1]:443", nil, nil, "connection to [2001:db8::1]:443", "net:[2001:db8::1]:443"},
		{"another port of a granted address", "10.0.0.7:81", []Grant{{Addr: ip("10.0.0.7"), Port: 80}}, nil,
			"connection to 10.0.0.7:81", "net:10.0.0.7:81"},
		{"another port of a granted name", fake + ":81", named(80), nil, "connection to api.example:81", "net:api.example:81"},
		{"a fake address without a name", "198.18.0.2:80", named(80), nil, "connection to 198.18.0.2:80", "net:198.18.0.2:80"},
		{"the host's loopback without a grant", "127.0.0.1:80", named(80), nil, "connection to 127.0.0.1:80", "net:127.0.0.1:80"},
		{"another loopback address than localhost's", "127.0.0.53:53", []Grant{{Host: "localhost"}}, nil, "connection to 127.0.0.53:53", "net:127.0.0.53:53"},
		{"a private address behind a name", fake + ":80", named(80), []string{"10.0.0.7"},
			"connection to api.example:80, which resolves to the private address 10.0.0.7", "net:10.0.0.7:80"},
		{"a private address behind a name, granted with another port", fake + ":80",
			append(named(80), Grant{Addr: ip("10.0.0.7"), Port: 81}),
			[]string{"10.0.0.7"},
			"connection to api.example:80, which resolves to the private address 10.0.0.7", "net:10.0.0.7:80"},
		{"a loopback address behind a name", fake + ":80", named(80), []string{"::ffff:127.0.0.1"},
			"connection to api.example:80, which resolves to the loopback address 127.0.0.1", "net:127.0.0.1:80"},
		{"a private address inside a public one", fake + ":80", named(80), []string{"64:ff9b::a00:7"},
			"connection to api.example:80, which resolves to the private address 64:ff9b::a00:7", "net:[64:ff9b::a00:7]:80"},
		{"a public address behind a name, which is this machine's", fake + ":80", named(80), []string{"192.0.2.99"},
			"connection to api.example:80, which resolves to the machine's own address 192.0.2.99", "net:192.0.2.99:80"},
		{"the machine's own address behind a name, written as IPv6", fake + ":80", named(80), []string{"::ffff:192.0.2.99"},
			"connection to api.example:80, which resolves to the machine's own address 192.0.2.99", "net:192.0.2.99:80"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			here := func(a netip.Addr) bool { return a == ip("192.0.2.99") }
			k := newKit(t, Options{Grants: c.grants, Resolve: resolveTo(c.resolved...), Here: here}, c.dst, "127.0.0.1:1")
			k.wantRefused()
			k.wantDenial(c.what, c.capability)
			k.wantDialed()
		})
	}
}

func TestPublicAddressesBesideAPrivateOne(t *testing.T) {
	k := newKit(t, Options{Grants: named(80), Resolve: resolveTo("10.0.0.7", "192.0.2.7")}, fake+":80", serve(t, echo))
	k.talk(k.connect())
	k.wantDialed("192.0.2.7:80")
	k.wantDenial("connection to api.example:80, which resolves to the private address 10.0.0.7", "net:10.0.0.7:80")
}

// dialOnly connects to server for one address. The others refuse, or hang until they are cancelled.
func dialOnly(good, server string, hang bool) func(context.Context, netip.AddrPort) (net.Conn, error) {
	return func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		switch {
		case a.Addr().String() == good:
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		case hang:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("refused")
	}
}

func TestOtherAddressesAreTried(t *testing.T) {
	echoing := serve(t, echo)
	for _, c := range []struct {
		rule string
		hang bool
	}{{"if the first refuses", false}, {"if the first hangs", true}} {
		t.Run(c.rule, func(t *testing.T) {
			o := Options{Grants: named(80),
				Resolve: resolveTo("2001:db8::1", "2001:db8::2", "192.0.2.7"), Dial: dialOnly("192.0.2.7", echoing, c.hang)}
			k := newKit(t, o, fake+":80", "")
			k.talk(k.connect())
			k.wantDialed("[2001:db8::1]:80", "192.0.2.7:80")
		})
	}
	t.Run("the other address of localhost is tried", func(t *testing.T) {
		o := Options{Grants: []Grant{{Host: "localhost", Port: 80}}, Dial: dialOnly("::1", echoing, false)}
		k := newKit(t, o, "127.0.0.1:80", "")
		k.talk(k.connect())
		k.wantDialed("127.0.0.1:80", "[::1]:80")
	})
	t.Run("addresses of another grant are not tried", func(t *testing.T) {
		o := Options{Grants: []Grant{{Addr: loopback4, Port: 80}}, Dial: dialOnly("::1", echoing, false)}
		k := newKit(t, o, "127.0.0.1:80", "")
		k.wantRefused()
		k.wantDialed("127.0.0.1:80")
	})
	t.Run("the number of tried addresses is limited", func(t *testing.T) {
		many := make([]string, 50)
		for i := range many {
			many[i] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).String()
		}
		o := Options{Grants: named(80), Dial: dialOnly("", "", false), Resolve: resolveTo(many...)}
		k := newKit(t, o, fake+":80", "")
		k.wantRefused()
		k.mu.Lock()
		defer k.mu.Unlock()
		if len(k.dialed) != maxAddrs {
			t.Errorf("%d addresses dialled, want %d", len(k.dialed), maxAddrs)
		}
	})
}

func TestWhatCannotBeReachedIsLogged(t *testing.T) {
	for _, c := range []struct {
		rule    string
		resolve func(context.Context, string) ([]netip.Addr, error)
		want    string
	}{
		{"a dial that is refused", resolveTo("192.0.2.7"), "connection to api.example:80: refused"},
		{"a name that is not found", func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") },
			"look-up of api.example: no such host"},
		{"a name without an address", resolveTo(), "look-up of api.example: the name has no address"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var log bytes.Buffer // written before the connection is reset, read after
			o := Options{Grants: named(80), Resolve: c.resolve, Dial: dialOnly("", "", false), Log: slog.New(slog.NewTextHandler(&log, nil))}
			k := newKit(t, o, fake+":80", "")
			k.wantRefused()
			k.wantNoDenial()
			if !strings.Contains(log.String(), c.want) {
				t.Errorf("log %q, want %q in it", log.String(), c.want)
			}
		})
	}
}

func TestRelay(t *testing.T) {
	grants := []Grant{{Addr: ip("192.0.2.7")}}
	const dst = "192.0.2.7:80"
	t.Run("a half-close is passed on", func(t *testing.T) {
		k := newKit(t, Options{Grants: grants}, dst, serve(t, func(c *net.TCPConn) {
			question, _ := io.ReadAll(c)
			_, _ = c.Write(bytes.ToUpper(question))
		}))
		c := k.connect()
		_, _ = c.Write([]byte("question"))
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(c); err != nil || string(answer) != "QUESTION" {
			t.Errorf("answer %q, %v", answer, err)
		}
	})
	t.Run("the server's half-close leaves the plugin's half open", func(t *testing.T) {
		got := make(chan string, 1)
		k := newKit(t, Options{Grants: grants}, dst, serve(t, func(c *net.TCPConn) {
			_ = c.CloseWrite()
			all, _ := io.ReadAll(c)
			got <- string(all)
		}))
		c := k.connect()
		if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
			t.Fatalf("read %q, %v", rest, err)
		}
		_, _ = c.Write([]byte("afterwards"))
		c.Close()
		if s := <-got; s != "afterwards" {
			t.Errorf("the server got %q", s)
		}
	})
	t.Run("many bytes arrive unchanged", func(t *testing.T) {
		k := newKit(t, Options{Grants: grants}, dst, serve(t, echo))
		c := k.connect()
		sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		go func() { _, _ = c.Write(sent); _ = c.CloseWrite() }()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes back of %d, %v", len(got), len(sent), err)
		}
	})
	t.Run("a server's reset is a reset for the plugin", func(t *testing.T) {
		k := newKit(t, Options{Grants: grants}, dst, serve(t, func(c *net.TCPConn) {
			_, _ = c.Write([]byte("half an ans"))
			_, _ = c.Read(make([]byte, 1)) // until the plugin has read it
			_ = c.SetLinger(0)
		}))
		c := k.connect()
		if _, err := io.ReadFull(c, make([]byte, 11)); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte("!"))
		k.wantReset(c)
	})
	t.Run("an answer in the middle of an upload arrives, though the server then resets", func(t *testing.T) {
		k := newKit(t, Options{Grants: grants}, dst, serve(t, func(c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Write([]byte("too large")) // the rest is not read, so that closing resets the connection
		}))
		c := k.connect()
		go func() { _, _ = c.Write(make([]byte, 8<<20)) }()
		answer := make([]byte, 9)
		if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "too large" {
			t.Errorf("answer %q, %v", answer, err)
		}
	})
	t.Run("a plugin's reset is a reset for the server", func(t *testing.T) {
		broke := make(chan error, 1)
		k := newKit(t, Options{Grants: grants}, dst, serve(t, func(c *net.TCPConn) {
			_, _ = c.Write([]byte("x"))
			_, err := io.Copy(io.Discard, c)
			broke <- err
		}))
		c := k.connect()
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		_ = c.SetLinger(0)
		c.Close()
		if err := <-broke; err == nil {
			t.Error("the server saw an end, not a reset")
		}
	})
	t.Run("an upstream that cannot be half-closed is closed", func(t *testing.T) {
		near, far := net.Pipe()
		o := Options{Grants: grants, Dial: func(context.Context, netip.AddrPort) (net.Conn, error) { return near, nil }}
		k := newKit(t, o, dst, "")
		_ = k.connect().CloseWrite()
		if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read %v, want the end", err)
		}
	})
}

func TestBounds(t *testing.T) {
	t.Run("a connection beyond the limit waits for another to end", func(t *testing.T) {
		k := newKit(t, Options{Grants: []Grant{{Addr: ip("192.0.2.7")}}, MaxConns: 1}, "192.0.2.7:80", serve(t, echo))
		first, second := k.connect(), k.connect()
		k.talk(first)
		_, _ = second.Write([]byte("hello"))
		_ = second.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := second.Read(make([]byte, 5)); !isTimeout(err) {
			t.Fatalf("the second connection was served beside the first: %v", err)
		}
		first.Close()
		_ = second.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(second, make([]byte, 5)); err != nil {
			t.Errorf("the second connection: %v", err)
		}
	})
	t.Run("errors of accept do not end the serving", func(t *testing.T) {
		k := newKit(t, Options{Grants: []Grant{{Addr: ip("192.0.2.7")}}}, "192.0.2.7:80", serve(t, echo))
		_ = k.listen.SetDeadline(time.Now())
		c := k.connect()
		_ = k.listen.SetDeadline(time.Time{})
		k.talk(c)
	})
	t.Run("a flood of refused connections ends in a count", func(t *testing.T) {
		k := newKit(t, Options{}, "192.0.2.7:80", "")
		for range 3 * perSecond {
			k.wantRefused()
		}
		_ = k.b.Close()
		close(k.denials)
		reported := 0
		for d := range k.denials {
			reported += d.Dropped
			if d.Capability != "" {
				reported++
			}
		}
		if reported != 3*perSecond {
			t.Errorf("%d denials reported or counted, want %d", reported, 3*perSecond)
		}
	})
}

func TestClose(t *testing.T) {
	t.Run("Close ends open connections and running look-ups", func(t *testing.T) {
		looking := make(chan struct{})
		o := Options{Grants: named(80), Resolve: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			close(looking)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		k := newKit(t, o, fake+":80", "")
		c := k.connect()
		wait(t, looking, "the look-up")
		k.wantNoDenial()
		k.wantReset(c)
	})
	t.Run("Close ends a relay", func(t *testing.T) {
		k := newKit(t, Options{Grants: []Grant{{Addr: ip("192.0.2.7")}}}, "192.0.2.7:80", serve(t, echo))
		c := k.connect()
		k.talk(c)
		k.wantNoDenial()
		if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("read after Close: %v", err)
		}
	})
	t.Run("Close may be called twice, and before anything is served", func(t *testing.T) {
		b := New(Options{})
		if err := errors.Join(b.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		l := listen(t)
		b.ServeTCP(l) // returns
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v, want a closed listener", err)
		}
	})
	t.Run("a listener's own end ends its serving", func(t *testing.T) {
		b, l, served := New(Options{}), listen(t), make(chan struct{})
		defer b.Close()
		go func() { defer close(served); b.ServeTCP(l) }()
		l.Close()
		wait(t, served, "ServeTCP to return")
	})
}

func TestOriginalDestinationWithoutARedirectIsTheLocalAddress(t *testing.T) {
	l := listen(t)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	accepted, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if got := originalDestination(accepted).String(); got != l.Addr().String() {
		t.Errorf("original destination %s, want %s", got, l.Addr())
	}
}

// TestWhatIsRefusedWhateverIsGranted: a connection to an address that Options.Refused refuses is
// closed before a byte is passed on. The other addresses of a name are used.
func TestWhatIsRefusedWhateverIsGranted(t *testing.T) {
	kept := func(addr string) func(netip.AddrPort) string {
		return func(a netip.AddrPort) string {
			if a.Addr().String() == addr {
				return "which is kept"
			}
			return ""
		}
	}
	t.Run("an address", func(t *testing.T) {
		heard := make(chan string, 1)
		server := serve(t, func(c *net.TCPConn) {
			text, _ := io.ReadAll(c) // a reset also ends it
			heard <- string(text)
		})
		k := newKit(t, Options{Grants: []Grant{{Addr: loopback4}}, Refused: kept("127.0.0.1")}, "127.0.0.1:8000", server)
		c, err := net.Dial("tcp", k.listen.Addr().String())
		if err == nil {
			_, _ = io.WriteString(c, "POST /plugin/save") // it may already be reset
			defer c.Close()
		}
		k.wantDenial("connection to 127.0.0.1:8000, which is kept", "")
		if got := <-heard; got != "" {
			t.Errorf("the server received %q", got)
		}
	})
	t.Run("one of the two addresses of localhost is refused", func(t *testing.T) {
		k := newKit(t, Options{Grants: []Grant{{Host: "localhost"}}, Refused: kept("127.0.0.1")}, "127.0.0.1:8000", serve(t, echo))
		k.talk(k.connect())
		k.wantDialed("127.0.0.1:8000", "[::1]:8000")
	})
	t.Run("one address of a name is refused", func(t *testing.T) {
		k := newKit(t, Options{Grants: []Grant{{Host: "a.example", Port: 80}}, Resolve: resolveTo("192.0.2.1", "192.0.2.2"), Refused: kept("192.0.2.1")},
			"198.18.0.1:80", serve(t, echo))
		k.talk(k.connect())
		k.wantDialed("192.0.2.1:80", "192.0.2.2:80")
	})
}
