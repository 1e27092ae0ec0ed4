package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzStored decodes a message of a server. The result fits the headers, or is an error.
func FuzzStored(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("NATS/1.0\r\nNats-Sequence: 7\r\nNats-Time-Stamp: 2026-01-02T03:04:05.6Z\r\nNats-Subject: a.b\r\n\r\n")
	f.Add("NATS/1.0\r\nNats-Sequence: -1\r\nNats-Time-Stamp: yesterday\r\n\r\n")
	f.Add("NATS/1.0 404 Message Not Found\r\n\r\n")
	f.Add("NATS/1.0\r\nnats-sequence: 7\r\n\r\n")
	f.Add("NATS/1.0\r\nNats-Sequence: 18446744073709551616\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		header, err := nats.DecodeHeadersMsg([]byte(text))
		if err != nil {
			return
		}
		m, err := parseStored(&nats.Msg{Header: header, Data: []byte("x")})
		if err != nil {
			return
		}
		again := nats.Header{headerSequence: header[headerSequence], headerTime: {m.time.Format(time.RFC3339Nano)}}
		if back, err := parseStored(&nats.Msg{Header: again}); err != nil || back.sequence != m.sequence || !back.time.Equal(m.time) {
			t.Errorf("%q is %+v, then %+v: %v", text, m, back, err)
		}
	})
}

// FuzzURL checks that no error about an address repeats the password in it.
func FuzzURL(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"nats://%@host:4222", "tls://user:%@host", "nats://host?%", "%://x", "nats:%", "ftp://u:%@h", "nats://h/%", "//%"} {
		f.Add(s)
	}
	const password = "Pa5s-w0rd"
	f.Fuzz(func(t *testing.T, s string) {
		at := strings.LastIndexByte(s, '@')
		if at < 0 || !strings.Contains(s[:at], "//") || strings.ContainsAny(s[at:], "%") {
			return // the URL has no password
		}
		address := strings.Replace(s, "%", password, 1)
		if err := checkURL(address); err != nil {
			if strings.Contains(err.Error(), password) && !strings.HasPrefix(address, password) {
				t.Errorf("%q: %v", address, err)
			}
			return
		}
		if shown := hosts([]string{address}); strings.Contains(shown, password) {
			t.Errorf("%q is shown as %q", address, shown)
		}
	})
}
