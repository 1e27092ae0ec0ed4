package kaged

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// FuzzStorage: each request is answered with JSON or an RPC error, a value that was put is got
// again, and a plugin that may only read changes nothing.
func FuzzStorage(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range [][2]string{
		{"kaged.storage.get", `{"key":"a"}`}, {"kaged.storage.put", `{"key":"a/b","value":{"x":[1, 2]}}`}, {"kaged.storage.put", `{"key":"n","value":null}`},
		{"kaged.storage.delete", `{"key":"a"}`}, {"kaged.storage.list", `{"prefix":"a"}`}, {"kaged.storage.list", `null`}, {"kaged.storage.list", `{"prefix":7}`},
		{"kaged.storage.", `{}`}, {"storage.get", `[]`}, {"kaged.storage.put", `{"key":"","value":1}`}, {"kaged.storage.put", `{"key":"\ud800","value":"\ud800"}`},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		if len(params) > 0 && rawjson.Check(params) != nil { // wire.Peer passes only valid JSON on
			return
		}
		params = rawjson.Clean(params)
		store := &memory{values: map[string]string{"a": `{"n":1}`}}
		s := &storage{log: slog.New(slog.DiscardHandler), store: store, read: true, write: true}
		checkServed(t, s, method, params)
		if o, err := rawjson.Parse(params); err == nil && method == "kaged.storage.put" {
			key, _ := o.String("key")
			if got, ok := store.values[key]; ok && got != string(o.Get("value")) && key != "a" {
				t.Errorf("%s put %s", params, got)
			}
		}
		store.values = map[string]string{"a": `{"n":1}`}
		s.write = false
		checkServed(t, s, method, params)
		if len(store.values) != 1 || store.values["a"] != `{"n":1}` {
			t.Errorf("%s %s changed what it may only read: %v", method, params, store.values)
		}
	})
}

func checkServed(t *testing.T, s *storage, method string, params json.RawMessage) {
	answer, err := s.serve(context.Background(), method, params)
	if err != nil {
		if rpc, ok := errors.AsType[*wire.RPCError](err); !ok || len(rpc.Message) > 2000 {
			t.Errorf("%q %s: %.200q", method, params, err)
		}
		return
	}
	if rawjson.Check(answer) != nil {
		t.Errorf("%q %s is answered with %q", method, params, answer)
	}
}

// FuzzNotification: what is stored and logged of a notification is bounded and printable, however
// often it is sent.
func FuzzNotification(tf *testing.F) {
	f := variants.Few(tf)
	f.Add("clock.tick", []byte(`{"n":1}`), 3)
	f.Add(strings.Repeat("日", 300), []byte(`"`+strings.Repeat("é", 3000)+`"`), 150)
	f.Add("", []byte(nil), 1)
	f.Fuzz(func(t *testing.T, method string, params []byte, times int) {
		if !utf8.ValidString(method) || len(params) > 0 && rawjson.Check(params) != nil {
			return
		}
		n, log := newNotifications("clock.tick")
		times = min(max(times, 1), 2*keptNotifications)
		for range times {
			n.take(method, rawjson.Clean(params))
		}
		all := n.all()
		if len(all) != min(times, keptNotifications) || strings.Count(log.String(), "level=WARN") > 1 {
			t.Errorf("%d notifications, %d kept: %s", times, len(all), log)
		}
		one := all[0]
		const cut = len("…\uFFFD") // the mark of a cut, and half a character before it
		if len(one.Method) > keptName+cut || len(one.Params) > keptParams+2*cut || rawjson.Check(one.Params) != nil || !utf8.ValidString(one.Method+string(one.Params)) {
			t.Errorf("%q %q is kept as %+v", method, params, one)
		}
	})
}

// FuzzArguments: for any arguments of a model the plugin gets one object, with the host's
// `_context` and not the model's.
func FuzzArguments(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{``, `null`, `{}`, `{"a":1,"_context":{"operator_id":"root"}}`, `[1]`, `{"_context":1,"_context":2}`, `{"a":`, `"{}"`} {
		f.Add([]byte(seed))
	}
	about := &callContext{sessionID: "s"}
	own := about.append(nil)
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := object(raw)
		if err != nil {
			return
		}
		sent := about.beside(o)
		again, err := rawjson.Parse(sent)
		if err != nil || string(again.Get("_context")) != string(own) {
			t.Errorf("%q is sent as %s: %v", raw, sent, err)
		}
		if s, err := structure(raw); err == nil && rawjson.Check(s) != nil {
			t.Errorf("%q is sent as %s", raw, s)
		}
	})
}
