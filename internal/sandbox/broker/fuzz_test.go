package broker

import (
	"bytes"
	"crypto/tls"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzClientHello: no bytes crash the parser, it stores no more than its bound, and it passes on
// the bytes that it read.
func FuzzClientHello(tf *testing.F) {
	f := variants.Of(tf)
	whole := helloOf(f, &tls.Config{ServerName: "api.example"})
	f.Add(whole)
	f.Add(fragment(whole, 7))
	f.Add(whole[:40])
	f.Add(handmade())
	f.Add(handmade(nameExtension("api.example"), extension(extEncrypted, []byte{1})))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, hello, err := readHello(bytes.NewReader(data))
		if len(raw) > maxHello+recordHeader {
			t.Fatalf("%d bytes kept", len(raw))
		}
		if err != nil {
			return
		}
		if !bytes.HasPrefix(data, raw) {
			t.Fatal("the bytes read differ from the bytes sent")
		}
		name, err := serverName(hello)
		if (name == "") == (err == nil) {
			t.Fatalf("name %q, error %v", name, err)
		}
		if err == nil && !bytes.Contains(hello, []byte(name)) {
			t.Fatalf("the name %q is not in the hello", name)
		}
	})
}

// FuzzDNS: no bytes crash the resolver. Each answer belongs to the query, is small, and contains
// only granted addresses and those of localhost.
func FuzzDNS(tf *testing.F) {
	f := variants.Of(tf)
	p := newPolicy(named(443))
	f.Add(packed(f, question("api.example.", dnsmessage.TypeA)))
	f.Add(packed(f, question("localhost.", dnsmessage.TypeAAAA)))
	f.Add(packed(f, question("1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR)))
	f.Add(packed(f, question("evil.example.", dnsmessage.TypeA)))
	f.Add([]byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1}) // a name that points to itself
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, denied := p.answer(data)
		if raw == nil {
			return
		}
		var a dnsmessage.Message
		if err := a.Unpack(raw); err != nil {
			t.Fatalf("the answer cannot be read: %v", err)
		}
		if !a.Response || !bytes.Equal(raw[:2], data[:2]) || len(raw) > 600 {
			t.Fatalf("%d bytes, header %+v", len(raw), a.Header)
		}
		switch got := recordText(a.Answers); got {
		case "", fake, "127.0.0.1", "::1", "api.example.":
		default:
			t.Fatalf("record %s", got)
		}
		if denied != nil && len(denied.What) > 300 {
			t.Fatalf("a denial of %d bytes", len(denied.What))
		}
	})
}
