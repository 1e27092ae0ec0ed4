package broker

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// helloOf returns the hello that crypto/tls sends.
func helloOf(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(near, config).Handshake()
	}()
	buf := make([]byte, maxHello)
	n, err := far.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	near.Close()
	far.Close()
	<-done
	return buf[:n]
}

// nameIn returns the server name in a hello.
func nameIn(r io.Reader) (string, error) {
	_, hello, err := readHello(r)
	if err != nil {
		return "", err
	}
	return serverName(hello)
}

// fragment splits the handshake message in raw into records of size bytes.
func fragment(raw []byte, size int) []byte {
	var out []byte
	for body := raw[recordHeader:]; len(body) > 0; {
		n := min(size, len(body))
		out = append(out, recordHandshake, 3, 1, byte(n>>8), byte(n))
		out = append(out, body[:n]...)
		body = body[n:]
	}
	return out
}

// handmade builds a hello that no library would send.
func handmade(extensions ...[]byte) []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0 /* session */, 0, 2, 0x13, 1 /* suites */, 1, 0 /* compression */)
	body = append(body, prefixed(2, bytes.Join(extensions, nil))...)
	return record(append([]byte{helloMessage}, prefixed(3, body)...))
}

func record(message []byte) []byte {
	return append([]byte{recordHandshake, 3, 1}, prefixed(2, message)...)
}

// prefixed returns b with its length before it, in size bytes.
func prefixed(size int, b []byte) []byte {
	var out []byte
	for i := size - 1; i >= 0; i-- {
		out = append(out, byte(len(b)>>(8*i)))
	}
	return append(out, b...)
}

func extension(kind int, body []byte) []byte {
	return append([]byte{byte(kind >> 8), byte(kind)}, prefixed(2, body)...)
}

func nameEntry(name string) []byte { return append([]byte{0}, prefixed(2, []byte(name))...) }

func nameExtension(name string) []byte { return extension(extServerName, prefixed(2, nameEntry(name))) }

func TestServerName(t *testing.T) {
	real := helloOf(t, &tls.Config{ServerName: "api.example"})
	for _, c := range []struct {
		rule string
		raw  []byte
		name string
		err  error
	}{
		{"of a real hello", real, "api.example", nil},
		{"of a real TLS 1.2 hello", helloOf(t, &tls.Config{ServerName: "api.example", MaxVersion: tls.VersionTLS12}), "api.example", nil},
		{"of a hello in several records", fragment(real, 100), "api.example", nil},
		{"of a hello in records of one byte", fragment(real, 1), "api.example", nil},
		{"of a hand-made hello", handmade(nameExtension("api.example")), "api.example", nil},
		{"no extension at all", handmade(), "", errNoName},
		{"a real hello without a name", helloOf(t, &tls.Config{InsecureSkipVerify: true}), "", errNoName},
		{"an encrypted hello", handmade(nameExtension("api.example"), extension(extEncrypted, []byte{1})), "", errEncrypted},
		{"an encrypted name", handmade(extension(extEncryptedName, []byte{1}), nameExtension("api.example")), "", errEncrypted},
		{"the extension twice", handmade(nameExtension("api.example"), nameExtension("evil.example")), "", errMalformed},
		{"two names", handmade(extension(0, prefixed(2, append(nameEntry("api.example"), nameEntry("evil.example")...)))), "", errMalformed},
		{"an empty name", handmade(nameExtension("")), "", errMalformed},
		{"an empty list", handmade(extension(0, prefixed(2, nil))), "", errMalformed},
		{"an unknown type of name", handmade(extension(0, prefixed(2, append([]byte{1}, prefixed(2, []byte("api.example"))...)))), "", errMalformed},
		{"bytes after the list", handmade(extension(0, append(prefixed(2, nameEntry("api.example")), 0))), "", errMalformed},
		{"an extension cut short", handmade([]byte{0, 0, 0, 9, 1}), "", errMalformed},
		{"bytes after the extensions", record(append([]byte{helloMessage}, prefixed(3, append(handmade()[recordHeader+messageHeader:], 0))...)), "", errMalformed},
		{"bytes after the hello", record(append(handmade(nameExtension("api.example"))[recordHeader:], 1)), "", errMalformed},
		{"another message", record([]byte{2, 0, 0, 0}), "", errMalformed},
		{"an empty record", []byte{recordHandshake, 3, 1, 0, 0}, "", errMalformed},
		{"a record too long", []byte{recordHandshake, 3, 1, 0x40, 1}, "", errMalformed},
		{"a hello too long", record([]byte{helloMessage, 1, 0, 0}), "", errMalformed},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), "", errNoTLS},
		{"a single strange byte", []byte("G"), "", errNoTLS},
		{"an SSL 2.0 hello", []byte{0x80, 0x2e, 1, 3, 1}, "", errNoTLS},
		{"nothing", nil, "", io.EOF},
		{"half a hello", real[:len(real)/2], "", io.ErrUnexpectedEOF},
	} {
		t.Run(c.rule, func(t *testing.T) {
			for _, r := range []io.Reader{bytes.NewReader(c.raw), iotest.OneByteReader(bytes.NewReader(c.raw))} {
				if name, err := nameIn(r); name != c.name || !errors.Is(err, c.err) {
					t.Errorf("%q, %v, want %q, %v", name, err, c.name, c.err)
				}
			}
		})
	}
}

func TestReadHelloIsLimited(t *testing.T) {
	endless := fragment(append(make([]byte, recordHeader), append([]byte{helloMessage, 0, 0xff, 0xf0}, make([]byte, 1<<17)...)...), 1)
	r := bytes.NewReader(endless)
	raw, _, err := readHello(r)
	if !errors.Is(err, errMalformed) || len(raw) > maxHello+recordHeader {
		t.Errorf("%d bytes kept, %v", len(raw), err)
	}
}

func TestReadHelloLeavesTheBytesAfterIt(t *testing.T) {
	hello := handmade(nameExtension("api.example"))
	r := bytes.NewReader(append(bytes.Clone(hello), "early data"...))
	raw, _, err := readHello(r)
	rest, _ := io.ReadAll(r)
	if err != nil || !bytes.Equal(raw, hello) || string(rest) != "early data" {
		t.Errorf("%d bytes read of %d, %q left, %v", len(raw), len(hello), rest, err)
	}
}

// secure starts a TLS server for api.example.
func secure(t *testing.T) (addr string, client *tls.Config) {
	t.Helper()
	server := httptest.NewTLSServer(nil) // for its certificate, which is for example.com
	server.Close()
	config := &tls.Config{Certificates: server.TLS.Certificates}
	addr = serve(t, func(c *net.TCPConn) {
		s := tls.Server(c, config)
		_, _ = io.Copy(s, s)
	})
	return addr, &tls.Config{InsecureSkipVerify: true, ServerName: "api.example"}
}

func TestTLSForTheGrantedNamePasses(t *testing.T) {
	addr, config := secure(t)
	for rule, name := range map[string]string{"as granted": "api.example", "in another case": "API.Example"} {
		t.Run(rule, func(t *testing.T) {
			config := config.Clone()
			config.ServerName = name
			k := newKit(t, Options{Grants: named(443), Resolve: resolveTo("192.0.2.7")}, fake+":443", addr)
			c := tls.Client(k.connect(), config)
			k.talk(c)
			k.wantDialed("192.0.2.7:443")
			c.Close()
			k.wantNoDenial()
		})
	}
}

func TestWhatElseComesToPort443IsRefused(t *testing.T) {
	both := append(named(443), Grant{Host: "other.example", Port: 443})
	for _, c := range []struct {
		rule             string
		grants           []Grant
		first            []byte
		what, capability string
	}{
		{"TLS for another name", named(443), helloOf(t, &tls.Config{ServerName: "evil.example"}),
			"TLS for evil.example over a connection to api.example:443", "net:evil.example:443"},
		{"TLS for another granted name", both, helloOf(t, &tls.Config{ServerName: "other.example"}),
			"TLS for other.example over a connection to api.example:443", ""},
		{"TLS for a name that is the same in Unicode only", []Grant{{Host: "kiosk.example", Port: 443}}, handmade(nameExtension("\u212aiosk.example")),
			"TLS for \"\u212aiosk.example\" over a connection to kiosk.example:443", ""},
		{"TLS for a name with a NUL in it", named(443), handmade(nameExtension("api.example\x00")),
			`TLS for "api.example\x00" over a connection to api.example:443`, ""},
		{"TLS for an endless name", named(443), handmade(nameExtension(strings.Repeat("!", 1000))),
			`TLS for "` + strings.Repeat("!", 64) + `" over a connection to api.example:443`, ""},
		{"TLS without a name", named(443), handmade(), "TLS without a server name to api.example:443", ""},
		{"an encrypted hello", named(443), handmade(nameExtension("api.example"), extension(extEncrypted, nil)),
			"TLS with an encrypted server name (ECH) to api.example:443", ""},
		{"no TLS", named(443), []byte("GET / HTTP/1.1\r\n\r\n"), "something other than TLS to api.example:443", ""},
		{"a broken hello", named(443), record([]byte{2}), "a malformed TLS hello to api.example:443", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			k := newKit(t, Options{Grants: c.grants, Resolve: resolveTo("192.0.2.7")}, fake+":443", "127.0.0.1:1")
			conn := k.connect()
			_, _ = conn.Write(c.first)
			k.wantReset(conn)
			k.wantDenial(c.what, c.capability)
			k.wantDialed()
		})
	}
}

func TestAPluginThatSaysNothingOnPort443IsNotDenied(t *testing.T) {
	for rule, said := range map[string]string{"nothing": "", "half a record": "\x16\x03"} {
		t.Run(rule, func(t *testing.T) {
			k := newKit(t, Options{Grants: named(443)}, fake+":443", "127.0.0.1:1")
			c := k.connect()
			_, _ = c.Write([]byte(said))
			_ = c.CloseWrite()
			if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
				t.Errorf("read %q, %v", rest, err)
			}
			k.wantNoDenial()
		})
	}
}
