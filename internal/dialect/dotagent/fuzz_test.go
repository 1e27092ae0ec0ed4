package dotagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// longestError limits what an error repeats of a plugin's reply: the limits of [cut] and
// shortStderr, with room for the host's own text.
const longestError = 4 << 10

// FuzzAnswer: only ok:true with exit code 0 is a success, every refusal has a reason, and errors
// repeat little of the plugin's output and can be printed.
func FuzzAnswer(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []struct {
		stdout, stderr string
		code           int
	}{
		{`{"ok":true}`, "", 0}, {`{"ok":false,"error":"no","suggest":"log in"}`, "", 0}, {`{"ok":false}`, "Traceback\nKeyError", 1},
		{`{"ok":true}`, "", 1}, {`{"ok":"true"}`, "", 0}, {`{"OK":true}`, "", 0}, {`{"ok":true,"ok":false}`, "", 0}, {"", "\xff", -1},
		{`{"ok":true} {"ok":true}`, "", 0}, {"\ufeff{\"ok\":true}", "", 0}, {`{"ok":true,"page":{"id":[1,2]}}`, strings.Repeat("é", 900), 0},
	} {
		f.Add([]byte(seed.stdout), seed.stderr, seed.code)
	}
	p := &plugin{name: "p"}
	f.Fuzz(func(t *testing.T, stdout []byte, stderr string, code int) {
		a, err := p.answer(verbInvoke, &proc.Result{Stdout: stdout, Stderr: stderr, Exit: proc.Exit{Code: code}})
		switch {
		case err != nil && (len(err.Error()) > longestError || !errors.Is(err, hook.Garbled) && !errors.Is(err, hook.Crash)):
			t.Errorf("%q: %d bytes of error: %.100q", stdout, len(err.Error()), err)
		case err == nil && a.ok && (code != 0 || !saysYes(stdout)):
			t.Errorf("%q with exit code %d counts as a success", stdout, code)
		case err == nil && !a.ok && a.reason == "":
			t.Errorf("%q counts as a refusal, but without a reason", stdout)
		}
		if got := received(stdout); got != nil && (rawjson.Check(got) != nil || !utf8.Valid(got)) {
			t.Errorf("the trace shows %q as %q", stdout, got)
		}
		if words := shortStderr(stderr); !utf8.ValidString(words) || len(words) > longestError {
			t.Errorf("%q ends in %q", stderr, words)
		}
	})
}

// saysYes checks with encoding/json whether the field ok is true. It decodes into a map, because
// with a struct encoding/json would also accept the name "OK", which the protocol does not.
func saysYes(stdout []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(stdout, &fields) == nil && bytes.Equal(fields["ok"], []byte("true"))
}

// FuzzInvocation: for any event, every kind is sent one JSON object with the same six keys in
// order.
func FuzzInvocation(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{}`, `{"agent":"a","schedule":"s","event":"stale","message":"m","config":{"k":1}}`, `{"agent":7,"message":[1,{}],"config":null}`,
		`{"result":{"stdout":"x","exit_code":1},"command":"c","args":["a"]}`, `{"tool":"t","error":"e","success":false,"text":"x"}`, `{"config":[]}`,
	} {
		f.Add([]byte(seed), []byte(`{"own":true}`))
	}
	f.Fuzz(func(t *testing.T, payload, own []byte) {
		p, err := rawjson.Parse(payload)
		if _, ownErr := rawjson.Parse(own); err != nil || ownErr != nil {
			return
		}
		for _, list := range [][]translation{native, elsewhere} {
			for i := range list {
				checkInvocation(t, &list[i], p, rawjson.Clean(own))
			}
		}
	})
}

func checkInvocation(t *testing.T, tr *translation, p hook.Object, own json.RawMessage) {
	raw, err := tr.invocation(p, own)
	if err != nil {
		return
	}
	sent, err := rawjson.Parse(raw)
	var names []string
	for _, field := range sent {
		names = append(names, field.Name)
	}
	if got := strings.Join(names, " "); err != nil || got != "kind agent schedule event message config" || sent.Get("config")[0] != '{' {
		t.Errorf("%s at %s is sent %s: %v", tr.kind, tr.point, raw, err)
	}
}
