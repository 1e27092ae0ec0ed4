package mine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// longestError limits what an error or a note repeats of a plugin's output: one or two results of
// cut, with room for the host's own text.
const longestError = 4 << 10

// FuzzReply: at every point, any stdout of a transform hook sets only valid JSON in fields that the
// point has, and a reply that repeats the context sets nothing.
func FuzzReply(tf *testing.F) {
	f := variants.Of(tf)
	const payload = `{"command":"todo.add","args":["a",1],"flags":{"n":5,"b":true,"o":{"x": 1}},"result":null,"tool":"t","arguments":{"k":[]},"message":"m","text":"t"}`
	for _, stdout := range []string{
		``, `{"status":"ok"}`, `{"status":"ok","context":{"command":"c","args":["x"],"flags":{"n":" 7 ","b":"no","new":"1"},"result":{"a":1}}}`,
		`{"context":{"flags":null,"args":null}}`, `{"context":{"flags":{"n":6,"message":"x"}}}`, `{"status":"error","error":"no","code":"E"}`,
		`{"status":7}`, `{"context":[]}`, `{"context":{"args":[1,"a",null]}}`, `{"status":"ok","context":{"result":1e999}}`, "\xff",
	} {
		f.Add([]byte(payload), []byte(stdout))
	}
	f.Add([]byte(`{"flags":[],"arguments":"{}","args":{},"timestamp":"yesterday"}`), []byte(`{"context":{"flags":{"a":"1"},"args":["b"]}}`))
	f.Fuzz(func(t *testing.T, payload, stdout []byte) {
		if got := received(stdout); got != nil && (rawjson.Check(got) != nil || !utf8.Valid(got)) {
			t.Errorf("the trace shows %q as %q", stdout, got)
		}
		p, err := rawjson.Parse(payload)
		if err != nil {
			return
		}
		for _, list := range [][]translation{native, elsewhere} {
			for i := range list {
				checkReply(t, &list[i], p, stdout)
			}
		}
	})
}

func checkReply(t *testing.T, tr *translation, p hook.Object, stdout []byte) {
	shown := tr.show(p)
	if err := rawjson.Check(hookCall(tr.stage, &shown)); err != nil {
		t.Errorf("%s at %s is sent %s: %v", tr.stage, tr.point, hookCall(tr.stage, &shown), err)
	}
	if tr.apply == nil {
		return
	}
	same, err := parseContext(shown.object().JSON())
	if err != nil {
		t.Fatalf("%s at %s: what is shown is not understood: %v", tr.stage, tr.point, err)
	}
	if set, _ := tr.apply(p, &shown, same); len(set) > 0 {
		t.Errorf("%s at %s: repeating %s sets %s", tr.stage, tr.point, shown.object().JSON(), set.JSON())
	}
	c, err := parseReply(stdout)
	if err != nil && (len(err.Error()) > longestError || !errors.Is(err, hook.Garbled) && !errors.Is(err, hook.Refused)) {
		t.Errorf("%q: %d bytes of error: %.100q", stdout, len(err.Error()), err)
	}
	if err != nil || c == nil {
		return
	}
	spec, _ := tr.point.Spec()
	set, notes := tr.apply(p, &shown, c)
	for _, field := range set {
		if rawjson.Check(field.Value) != nil || !slices.Contains(spec.Fields, field.Name) {
			t.Errorf("%s at %s: %q sets %s to %q", tr.stage, tr.point, stdout, field.Name, field.Value)
		}
	}
	if text := strings.Join(notes, "\n"); len(text) > longestError*(1+len(c.flags)) {
		t.Errorf("%s at %s: %d bytes of notes", tr.stage, tr.point, len(text))
	}
}

// FuzzStderr: the error of a plugin that failed is its error object or the end of its stderr, short
// and printable.
func FuzzStderr(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		``, `{"status":"error","error":"no tags","code":"TAGS"}`, `{"error":"unsupported protocol version"}`, `{"status":"ok"}`, "Traceback:\n KeyError\n",
		`{"error":"a"} {"error":"b"}`, "\xff\xfe", `{"code":"` + strings.Repeat("é", 600) + `"}`, strings.Repeat("日", 500),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stderr string) {
		if said := saidOn(stderr); said != nil {
			if text := said.Error(); text == "" || len(text) > longestError || !utf8.ValidString(text) {
				t.Errorf("%q says %q", stderr, text)
			}
		}
		for _, words := range []string{stderrTail(stderr), hook.ReasonLine(stderr)} {
			if len(words) > longestError || !utf8.ValidString(words) {
				t.Errorf("%q ends in %q", stderr, words)
			}
		}
	})
}
