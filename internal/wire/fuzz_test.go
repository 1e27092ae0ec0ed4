package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzSerialReplies: whatever a plugin writes before it exits, calls neither hang nor panic, and
// return valid results.
func FuzzSerialReplies(tf *testing.F) {
	f := variants.Of(tf)
	seedReplies(f)
	f.Fuzz(func(t *testing.T, before, during []byte) {
		if len(before)+len(during) > 60_000 { // all of it must fit the pipe
			return
		}
		r, w, plugin := newPair(t)
		s := NewSerial(r, w, Options{MaxReceive: 1000, OnNoise: func(n Noise) { checkNoise(t, n) }})
		defer s.Close()
		plugin.write(string(before))
		go func() {
			plugin.read()
			plugin.write(string(during))
			_ = plugin.w.Close()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for range 3 {
			result, err := s.Call(ctx, "m", nil)
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("the call hung")
			}
			checkOutcome(t, result, err)
		}
	})
}

func FuzzPeerReplies(tf *testing.F) {
	f := variants.Of(tf)
	seedReplies(f)
	f.Fuzz(func(t *testing.T, before, during []byte) {
		if len(before)+len(during) > 60_000 {
			return
		}
		r, w, plugin := newPair(t)
		p := NewPeer(r, w, PeerOptions{Options: Options{MaxReceive: 1000, OnNoise: func(n Noise) { checkNoise(t, n) }}})
		defer p.Close()
		plugin.write(string(before))
		go func() {
			_, _ = plugin.in.ReadLine()
			_, _ = plugin.w.Write(during)
			_ = plugin.w.Close()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		result, err := p.Call(ctx, "m", nil)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the call hung")
		}
		checkOutcome(t, result, err)
	})
}

// FuzzPeerListens: whatever a plugin sends without a request, handlers get valid values, and every
// line that goes back is one message.
func FuzzPeerListens(tf *testing.F) {
	f := variants.Of(tf)
	for _, text := range []string{
		`{"method":"m","params":{"a":[1, 2]}}` + "\n", `{"id":"x","method":"kaged.storage.get","params":{"key":"k"}}` + "\n", `{"id":null,"method":"m"}{"id":[1],"method":""}` + "\n",
		`{"id":1,"method":"\ud800","params":"\ud800"}` + "\n", "{\"id\":\"\xff\",\"method\":\"\xff\"}", `{"method":7,"id":{}}` + "\n", `{"id":1e999,"method":"` + strings.Repeat("m", 1200) + `"}`,
		strings.Repeat(`{"id":1,"method":"m"}`, 40) + "\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		if len(said) > 60_000 { // all of it must fit the pipe
			return
		}
		r, w, plugin := newPair(t)
		p := NewPeer(r, w, PeerOptions{
			Options:  Options{MaxReceive: 1000, OnNoise: func(n Noise) { checkNoise(t, n) }},
			OnNotify: func(method string, params json.RawMessage) { checkHeard(t, method, params) },
			OnRequest: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				checkHeard(t, method, params)
				return params, nil
			},
		})
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			for {
				line, err := plugin.in.ReadLine()
				if err != nil {
					return // closed below
				}
				checkSent(t, said, line)
				if m, err := scanMessage(line, 0); err == nil && string(m.raw(m.method)) == `"last"` {
					_, _ = plugin.w.WriteString(`{"id":` + string(m.raw(m.id)) + `,"result":0}` + "\n")
				}
			}
		}()
		plugin.write(string(said) + "\n")
		result, err := p.Call(soon(t), "last", nil) // its answer comes when all input has been read, unless the input itself has a reply to this call
		checkOutcome(t, result, err)
		_ = p.Close()
		<-answered
	})
}

// checkSent checks that a line is JSON. It must be UTF-8 too, unless the input is not: an id goes
// back byte for byte.
func checkSent(t *testing.T, input, line []byte) {
	if !json.Valid(line) || utf8.Valid(input) && !utf8.Valid(line) {
		t.Errorf("%q is answered with %q", input, line)
	}
}

func checkHeard(t *testing.T, method string, params []byte) {
	if !utf8.ValidString(method) || params != nil && (!json.Valid(params) || !utf8.Valid(params) || bytes.ContainsRune(params, '\n')) {
		t.Errorf("heard %q %q", method, params)
	}
}

// FuzzServe: whatever a host sends, every reply is one message on a line of its own.
func FuzzServe(tf *testing.F) {
	f := variants.Of(tf)
	for _, text := range []string{
		`{"id":1,"method":"m","params":[1, 2]}` + "\n", "garbage\n\n", `{"id":1,"method":"m"}{"id":2,"method":"m"}` + "\n" + `{"method":"n"}`, `{"id":"\ud800","method":7}`, "{\"id\":\"\xff\",\"method\":\"m\"}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		for _, serve := range []func(io.Reader, io.Writer, Answer) error{Serve, ServeLent} {
			var out bytes.Buffer
			err := serve(bytes.NewReader(sent), &out, func(method string, params json.RawMessage) (json.RawMessage, error) {
				checkHeard(t, method, params)
				return params, nil
			})
			if err != nil {
				t.Errorf("%q: %v", sent, err)
			}
			for line := range bytes.Lines(out.Bytes()) {
				checkSent(t, sent, line)
			}
		}
	})
}

func seedReplies(f *variants.F) {
	for _, text := range []string{
		``, "\n", "garbage\n", `{"id":1,"result":1}` + "\n", `{"id":1,"result":1}`, `{"id":2,"error":{"code":1}}` + "\n",
		`{"id":9,"method":"m"}{"id":1,"resu`, strings.Repeat("x", 3000) + "\n" + `{"id":1,"result":` + strings.Repeat(" ", 2000) + "1}\n",
		`{"result":"` + strings.Repeat("y", 1200) + `","id":1}` + "\r\n",
	} {
		f.Add([]byte(text), []byte(`{"id":1,"result":"ok"}`+"\n"))
		f.Add([]byte(nil), []byte(text))
	}
}

func checkOutcome(t *testing.T, result []byte, err error) {
	if (result == nil) == (err == nil) {
		t.Errorf("result %q and error %v", result, err)
	}
	if err == nil && (!json.Valid(result) || !utf8.Valid(result)) {
		t.Errorf("the result is %q", result)
	}
	if err != nil && (len(err.Error()) > 2000 || !utf8.ValidString(err.Error())) {
		t.Errorf("the error is %q", err.Error())
	}
}

func checkNoise(t *testing.T, n Noise) {
	if len(n.Line) > messageCut || len(n.ID) > idCut || len(n.Why) > 500 || !utf8.ValidString(n.Line+n.ID+n.Why) {
		t.Errorf("noise %+v", n)
	}
}
