package wire

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A plugin that writes anything at all, and then ends: calls neither hang nor panic, and what they return is valid.
func FuzzSerialReplies(f *testing.F) {
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

func FuzzPeerReplies(f *testing.F) {
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

func seedReplies(f *testing.F) {
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
