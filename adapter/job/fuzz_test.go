package job

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzOrder reads an order from the queue, which other machines and versions write to. The order
// names a run and is the same after it was written again, or reading it is an error.
func FuzzOrder(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"agent":"a","schedule":"s","tick":"2026-01-02T03:04:05Z","run":"a/s/1","attempt":1}`, `{"agent":"a","schedule":"s","run":"r","attempt":0}`, `{}`, `null`, `{"attempt":1e9}`,
		`{"agent":"a","schedule":"s","run":"r","attempt":2,"manual":true,"tick":"9999-12-31T23:59:59.999999999+23:59"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := decodeOrder(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatalf("%q: %+v cannot be written: %v", data, o, err)
		}
		again, err := decodeOrder(text)
		if err != nil || o.Agent == "" || o.Attempt < 1 || again.id() != o.id() || !again.Tick.Equal(o.Tick) {
			t.Errorf("%q is %+v, then %+v: %v", data, o, again, err)
		}
	})
}

// FuzzPage: a stored page that was read, damaged or not, is the same after it was written and read
// again.
func FuzzPage(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"agent":"a","schedule":"s","since":"2026-01-02T03:04:05Z","active":"r","attempt":2,"streak":-3}`, `{}`, `{"streak":1e99}`, `{"last_tick":"x"}`, `{"last_status":"no such","attempt":-1}`,
		`{"active":"r","run":{"id":"a/s/1","status":"running","attempts":[{"number":1}]}}`, `{"run":{"status":"running","attempts":null}}`, `{"run":null,"last":{}}`,
		`{"agent":"a","schedule":"s","streak":3,"run":7}`, `{"run":{"id":"a/s/1","status":"running","attempts":[{"number":1}]},"held":{"token":"t","holder":{"pid":1,"name":"n"}},"cancel":"me"}`,
		`{"run":{"id":"a/s/1","status":"running","attempts":[{"number":1}]},"held":{"token":""}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _ := decodePage(data) // a damaged page is read as far as possible
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%q: %+v cannot be written: %v", data, s, err)
		}
		again, err := decodePage(text)
		if twice, _ := json.Marshal(again); err != nil || !bytes.Equal(twice, text) {
			t.Errorf("%q is %s, then %s: %v", data, text, twice, err)
		}
	})
}

// FuzzLines: stored output has the same number of lines after it was read and written again.
func FuzzLines(tf *testing.F) {
	f := variants.Of(tf)
	f.Add(append(encodeLine(Line{Attempt: 1, Stream: stdout, Text: "a\nb"}), encodeLine(Line{Text: "\xff"})...))
	f.Add([]byte(""))
	f.Add([]byte("{}\n\n{}"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var batch bytes.Buffer
		n := 0
		err := decodeLines(data, func(l Line) error {
			n++
			batch.Write(encodeLine(l))
			return nil
		})
		if err != nil || n == 0 {
			return
		}
		again := 0
		if err := decodeLines(batch.Bytes(), func(Line) error { again++; return nil }); err != nil || again != n {
			t.Errorf("%q has %d lines, then %d: %v", data, n, again, err)
		}
	})
}
