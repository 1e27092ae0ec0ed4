package broker

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestGrantedNamesAreAskedForWithTheirFinalDot: a granted name is looked up with a dot at its end,
// so that no other name is tried.
func TestGrantedNamesAreAskedForWithTheirFinalDot(t *testing.T) {
	for _, host := range []string{"api.example", "api.example.", "API.example"} {
		asked := make(chan string, 1)
		o := Options{Grants: []Grant{{Host: host, Port: 80}}, Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			asked <- host
			return []netip.Addr{ip("192.0.2.7")}, nil
		}}
		k := newKit(t, o, fake+":80", serve(t, echo))
		k.talk(k.connect())
		if got := <-asked; got != "api.example." {
			t.Errorf("granted %s, the resolver is asked for %q", host, got)
		}
	}
}

// searchVariable makes this test binary the child of TestSearchDomainsAreNotTried.
const searchVariable = "BROKER_TEST_SEARCH"

// TestSearchDomainsAreNotTried: the system's resolver tries none of the search domains of
// resolv.conf. The test has its own resolv.conf in a mount namespace.
func TestSearchDomainsAreNotTried(t *testing.T) {
	if os.Getenv(searchVariable) != "" {
		lookUpForSearch(t)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux, for its own resolv.conf")
	}
	own := "-m"
	if os.Getuid() != 0 {
		own = "-rm" // in a user namespace
	}
	if out, err := exec.Command("unshare", own, "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace here: %v: %s", err, out)
	}
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver 127.0.0.1\nsearch corp.example evil.example\noptions ndots:5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", own, "sh", "-c", `mount --bind "$1" /etc/resolv.conf && exec "$2" -test.v -test.run "^`+t.Name()+`$"`,
		"sh", conf, os.Args[0])
	cmd.Env = append(os.Environ(), searchVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the child tested nothing:\n%s", out)
	}
}

// lookUpForSearch looks names up, and checks which names a name server is asked for.
func lookUpForSearch(t *testing.T) {
	server, asked := nameServer(t)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}
	if _, err := net.DefaultResolver.LookupHost(t.Context(), "control"); err == nil {
		t.Fatal("a name was found")
	}
	if got := asked(); !slices.Contains(got, "control.corp.example.") {
		t.Fatalf("the search domains are not in use, so the test proves nothing: %v", got)
	}
	b := New(Options{Grants: []Grant{{Host: "api", Port: 80}, {Host: "api.example", Port: 80}}})
	defer b.Close()
	for _, name := range []string{"api", "api.example"} {
		if _, err := b.addresses(t.Context(), target{name: name, port: 80}); err == nil {
			t.Errorf("%s was found", name)
		}
		for _, got := range asked() {
			if got != name+"." {
				t.Errorf("for %s the name server is asked for %s", name, got)
			}
		}
	}
}

// nameServer answers every query with NXDOMAIN. asked returns the names that were queried since it
// was last called.
func nameServer(t *testing.T) (address string, asked func() []string) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var mu sync.Mutex // protects names
	var names []string
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			mu.Lock()
			names = append(names, m.Questions[0].Name.String())
			mu.Unlock()
			m.Response, m.RCode, m.Additionals = true, dnsmessage.RCodeNameError, nil
			if raw, err := m.Pack(); err == nil {
				_, _ = c.WriteTo(raw, from)
			}
		}
	}()
	return c.LocalAddr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		got := names
		names = nil
		return got
	}
}

// TestASuggestedGrantParses: a grant that a denial suggests can be written into the configuration
// unchanged.
func TestASuggestedGrantParses(t *testing.T) {
	for _, c := range []struct{ name, capability string }{
		{"evil.example", "net:evil.example:443"},
		{"evil.example.", "net:evil.example:443"},
		{"EVIL.example.", "net:evil.example:443"},
		{"_srv.example", "net:_srv.example:443"},
		{"evil.example..", ""},
		{".", ""},
		{".example", ""},
		{"-a.example", ""},
		{"a-.example", ""},
		{"a..example", ""},
		{"example.123", ""},
		{strings.Repeat("a", 64) + ".example", ""},
		{strings.Repeat("a.", 200) + "example", ""},
	} {
		if _, got := printName(cleanName(c.name), "443"); got != c.capability {
			t.Errorf("for %q it suggests %q, want %q", c.name, got, c.capability)
		}
		if c.capability == "" {
			continue
		}
		if _, err := capability.Parse(c.capability); err != nil {
			t.Errorf("%s: %v", c.capability, err)
		}
	}
}

func FuzzASuggestedGrantParses(tf *testing.F) {
	f := variants.Of(tf)
	for _, name := range []string{"evil.example.", "a..b", "-a", "1.2.3.4", "0x7f.1", "a.1", "\u212a", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if _, suggested := printName(cleanName(name), "443"); suggested != "" {
			if _, err := capability.Parse(suggested); err != nil {
				t.Fatalf("%q: %v", suggested, err)
			}
		}
	})
}

// TestAFinalDotInAHelloIsNoOtherName: a dot at the end of the name in a hello does not make it
// another name.
func TestAFinalDotInAHelloIsNoOtherName(t *testing.T) {
	p := newPolicy(named(443))
	at := target{name: "api.example", port: 443}
	// crypto/tls does not send the dot.
	if err := p.checkName(bodyOf(t, handmade(nameExtension("api.example."))), at); err != nil {
		t.Errorf("the granted name: %v", err)
	}
	err := p.checkName(bodyOf(t, handmade(nameExtension("evil.example."))), at)
	d, ok := err.(Denial)
	if !ok || d.Capability != "net:evil.example:443" {
		t.Errorf("another name: %+v", err)
	}
}

// bodyOf returns the hello in a record.
func bodyOf(t *testing.T, record []byte) []byte {
	t.Helper()
	_, hello, err := readHello(bytes.NewReader(record))
	if err != nil {
		t.Fatal(err)
	}
	return hello
}
