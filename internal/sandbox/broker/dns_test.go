package broker

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const typeHTTPS = dnsmessage.Type(65)

func question(name string, kind dnsmessage.Type) dnsmessage.Message {
	return dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
}

func packed(t testing.TB, m dnsmessage.Message) []byte {
	t.Helper()
	raw, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// ask returns the answer to a query, without sockets.
func ask(t *testing.T, p *policy, m dnsmessage.Message) (dnsmessage.Message, *Denial) {
	t.Helper()
	raw, denied := p.answer(packed(t, m))
	var a dnsmessage.Message
	if err := a.Unpack(raw); err != nil {
		t.Fatal(err)
	}
	if a.ID != m.ID || !a.Response || a.RecursionDesired != m.RecursionDesired || !a.RecursionAvailable {
		t.Errorf("header %+v", a.Header)
	}
	return a, denied
}

func TestAnswers(t *testing.T) {
	p := newPolicy([]Grant{{Host: "api.example", Port: 443}, {Host: "api.example", Port: 80}, {Host: "other.example"}})
	for _, c := range []struct {
		rule, name string
		kind       dnsmessage.Type
		code       dnsmessage.RCode
		record     string // as text; may be empty
		capability string // of the denial; empty for none
	}{
		{"a granted name has an address", "api.example.", dnsmessage.TypeA, 0, fake, ""},
		{"each name has its own address", "other.example.", dnsmessage.TypeA, 0, "198.18.0.2", ""},
		{"case does not matter", "API.eXample.", dnsmessage.TypeA, 0, fake, ""},
		{"a granted name has no IPv6 address", "api.example.", dnsmessage.TypeAAAA, 0, "", ""},
		{"a granted name has no HTTPS record", "api.example.", typeHTTPS, 0, "", ""},
		{"a granted name has no text record", "api.example.", dnsmessage.TypeTXT, 0, "", ""},
		{"localhost", "localhost.", dnsmessage.TypeA, 0, "127.0.0.1", ""},
		{"localhost, IPv6", "localhost.", dnsmessage.TypeAAAA, 0, "::1", ""},
		{"localhost, other records", "localhost.", dnsmessage.TypeMX, 0, "", ""},
		{"another name does not exist", "evil.example.", dnsmessage.TypeA, dnsmessage.RCodeNameError, "", "net:evil.example:<port>"},
		{"a name below a granted one does not exist", "a.api.example.", dnsmessage.TypeA, dnsmessage.RCodeNameError, "", "net:a.api.example:<port>"},
		{"a name above a granted one does not exist", "example.", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, "", "net:example:<port>"},
		{"a fake address has its name", "1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, 0, "api.example.", ""},
		{"another address has no name", "7.2.0.192.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, "", ""},
		{"an IPv6 address has no name", "1.0.0.2.ip6.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, "", ""},
		{"a reverse name that is not an address has no name", "1.0.18.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a, denied := ask(t, p, question(c.name, c.kind))
			if a.RCode != c.code || a.Questions[0].Name.String() != c.name {
				t.Errorf("code %v, question %v", a.RCode, a.Questions)
			}
			if got := recordText(a.Answers); got != c.record {
				t.Errorf("record %q, want %q", got, c.record)
			}
			switch {
			case (denied != nil) != (c.capability != ""):
				t.Errorf("denial %v", denied)
			case denied != nil && (denied.Capability != c.capability || denied.What != "look-up of "+strings.TrimSuffix(c.name, ".")):
				t.Errorf("denial %+v", denied)
			}
		})
	}
}

func recordText(records []dnsmessage.Resource) string {
	var text []string
	for _, r := range records {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			text = append(text, netip.AddrFrom4(body.A).String())
		case *dnsmessage.AAAAResource:
			text = append(text, netip.AddrFrom16(body.AAAA).String())
		case *dnsmessage.PTRResource:
			text = append(text, body.PTR.String())
		}
	}
	return strings.Join(text, " ")
}

func TestStrangeQueries(t *testing.T) {
	p := newPolicy(named(80))
	two := question("api.example.", dnsmessage.TypeA)
	two.Questions = append(two.Questions, two.Questions[0])
	update := question("api.example.", dnsmessage.TypeA)
	update.OpCode = 5
	chaos := question("version.bind.", dnsmessage.TypeTXT)
	chaos.Questions[0].Class = dnsmessage.ClassCHAOS
	for rule, c := range map[string]struct {
		query dnsmessage.Message
		code  dnsmessage.RCode
	}{
		"two questions":      {two, dnsmessage.RCodeFormatError},
		"no question":        {dnsmessage.Message{}, dnsmessage.RCodeFormatError},
		"another operation":  {update, dnsmessage.RCodeNotImplemented},
		"another class":      {chaos, dnsmessage.RCodeRefused},
		"a name of odd text": {question("a\nb.", dnsmessage.TypeA), dnsmessage.RCodeNameError},
	} {
		t.Run(rule, func(t *testing.T) {
			a, denied := ask(t, p, c.query)
			if a.RCode != c.code || len(a.Answers) > 0 {
				t.Errorf("answer %+v", a)
			}
			if denied != nil && (denied.What != `look-up of "a\nb"` || denied.Capability != "") {
				t.Errorf("denial %+v", denied)
			}
		})
	}
	t.Run("an answer is not answered", func(t *testing.T) {
		m := question("api.example.", dnsmessage.TypeA)
		m.Response = true
		if raw, denied := p.answer(packed(t, m)); raw != nil || denied != nil {
			t.Errorf("%x, %v", raw, denied)
		}
	})
	t.Run("bytes that are not a message are not answered", func(t *testing.T) {
		if raw, denied := p.answer([]byte("hello")); raw != nil || denied != nil {
			t.Errorf("%x, %v", raw, denied)
		}
	})
}

func TestEDNSIsAnsweredWithEDNS(t *testing.T) {
	m := question("api.example.", dnsmessage.TypeA)
	var h dnsmessage.ResourceHeader
	if err := h.SetEDNS0(4096, dnsmessage.RCodeSuccess, true); err != nil {
		t.Fatal(err)
	}
	m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{Options: []dnsmessage.Option{{Code: 10, Data: make([]byte, 8)}}}}}
	a, _ := ask(t, newPolicy(named(80)), m)
	if recordText(a.Answers) != fake || len(a.Additionals) != 1 || a.Additionals[0].Header.Type != dnsmessage.TypeOPT {
		t.Errorf("answer %+v", a)
	}
	if a, _ = ask(t, newPolicy(named(80)), question("api.example.", dnsmessage.TypeA)); len(a.Additionals) > 0 {
		t.Errorf("EDNS unasked: %+v", a)
	}
}

// dnsKit returns a broker that serves DNS on a real socket, and a real resolver that uses it.
func dnsKit(t *testing.T) (b *Broker, c net.PacketConn, r *net.Resolver, denials chan Denial) {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	denials = make(chan Denial, 100)
	b = New(Options{Grants: named(80), OnDenied: func(d Denial) { denials <- d }})
	served := make(chan struct{})
	go func() { defer close(served); b.ServeDNS(c) }()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		wait(t, served, "ServeDNS to return")
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}
	return b, c, &net.Resolver{PreferGo: true, Dial: dial}, denials
}

func TestARealResolver(t *testing.T) {
	_, c, r, denials := dnsKit(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	t.Run("it finds a granted name", func(t *testing.T) {
		if found, err := r.LookupNetIP(ctx, "ip", "api.example."); err != nil || len(found) != 1 || found[0].Unmap().String() != fake {
			t.Errorf("found %v, %v", found, err)
		}
	})
	t.Run("it learns that another name does not exist", func(t *testing.T) {
		var fault *net.DNSError
		if found, err := r.LookupNetIP(ctx, "ip4", "evil.example."); !errors.As(err, &fault) || !fault.IsNotFound {
			t.Errorf("found %v, %v", found, err)
		}
		if d := <-denials; d.Error() != "look-up of evil.example: to allow it, grant net:evil.example:<port>" {
			t.Errorf("denial %q", d.Error())
		}
	})
	t.Run("it is answered after garbage and errors", func(t *testing.T) {
		_ = c.SetReadDeadline(time.Now())
		conn, err := net.Dial("udp", c.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write(bytes.Repeat([]byte{0xc0}, 9000))
		_, _ = conn.Write(nil)
		_ = c.SetReadDeadline(time.Time{})
		if _, err := r.LookupNetIP(ctx, "ip4", "api.example."); err != nil {
			t.Error(err)
		}
	})
}

func TestServeDNSAfterClose(t *testing.T) {
	b, _, _, _ := dnsKit(t)
	_ = b.Close()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.ServeDNS(c) // returns
	if _, _, err := c.ReadFrom(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v, want a closed socket", err)
	}
}
