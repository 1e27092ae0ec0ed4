package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// FuzzEvents: a stream gives the same events for all kinds of line ends, and none over the limit.
func FuzzEvents(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"data: {}\n\n", "id: 1\nretry: 10\ndata: a\ndata: b\r\n\r\n", ":\n\ndata\n\n", "data:x\r\rdata: y\n\n", "event: message\ndata: {\"id\":1}\n\nrest"} {
		f.Add([]byte(seed))
	}
	const most = 1 << 10
	f.Fuzz(func(t *testing.T, text []byte) {
		all := func(text []byte) (data []string, err error) {
			e := newEvents(bytes.NewReader(text), most)
			for {
				one, err := e.next()
				if err != nil {
					return data, err
				}
				data = append(data, string(one.data))
			}
		}
		got, err := all(text)
		for _, d := range got {
			if len(d) > most || d == "" {
				t.Fatalf("an event of %d bytes", len(d))
			}
		}
		if !errors.Is(err, io.EOF) {
			if !errors.Is(err, wire.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		unix := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n")
		if again, _ := all([]byte(unix)); strings.Join(again, "\x00") != strings.Join(got, "\x00") {
			t.Fatalf("%q with other line ends is %q", got, again)
		}
	})
}

// FuzzMessage: what is accepted as a message is JSON, and has the fields of its kind.
func FuzzMessage(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"id":"a","method":"ping"}`, `{"id":null,"error":{"code":-32600,"message":"x","data":[1]}}`, `{"error":{"code":1.5}}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := readMessage(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is not JSON", text)
		}
		if m.method == "" && m.result == nil && m.err == nil {
			t.Fatal("it is neither a request nor an answer")
		}
		for _, raw := range []json.RawMessage{m.id, m.params, m.result} {
			if raw != nil && !json.Valid(raw) {
				t.Fatalf("%q is not JSON", raw)
			}
		}
	})
}
