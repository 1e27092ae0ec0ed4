package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

func TestCallID(t *testing.T) {
	tests := map[string]uint64{ // 0: not an id of ours
		`1`: 1, `42`: 42, `"42"`: 42, `42.0`: 42, `4.2e1`: 42, `"42.0"`: 42, `123456789012345678`: 123456789012345678,
		`0`: 0, `-1`: 0, `1.5`: 0, `null`: 0, `true`: 0, `{}`: 0, `[1]`: 0, `""`: 0, `"x"`: 0, `"\u0031"`: 0, `1e99`: 0, `"NaN"`: 0, `"inf"`: 0,
		`99999999999999999999999`: 0, `"` + strings.Repeat("9", 100) + `"`: 0, ``: 0,
	}
	for id, want := range tests {
		if got, ok := callID([]byte(id)); got != want && ok {
			t.Errorf("callID(%s) = %d, %v; want %d", id, got, ok, want)
		} else if want != 0 && !ok {
			t.Errorf("callID(%s) found no id", id)
		}
	}
}

func TestTailID(t *testing.T) {
	tests := map[string]string{ // "": not found
		`…xyz","id":7}`:                `7`,
		`…xyz" , "id" : "7" } ` + "\r": `"7"`,
		`…xyz"},"id":"notes-1"}`:       `"notes-1"`,
		`…xyz","id":null}`:             ``,
		`…xyz","id":7}}`:               ``, // in an inner object
		`…xyz","id":7},"b":1}`:         ``,
		`…\"id\":7}"}`:                 ``, // in a string
		`…","id":{"a":7}}`:             `{"a":7}`,
		`…xyz"}`:                       ``,
		``:                             ``,
		`"id":7`:                       ``,
		`"id"}`:                        ``,
	}
	for tail, want := range tests {
		if got := tailID([]byte(tail)); string(got) != want {
			t.Errorf("tailID(%s) = %s; want %s", tail, got, want)
		}
	}
}

func TestAMessageIsSentOnOneLine(t *testing.T) {
	id, value := []byte("\n7"), []byte("{\n\"a\":\n1}")
	for _, line := range [][]byte{
		appendReply(nil, id, value),
		appendFault(nil, id, &RPCError{Code: 1, Message: "a\nb", Data: value}),
		appendReply(nil, []byte(strings.Repeat("9", 10_000)), nil),
		appendReply(nil, nil, []byte("not\nJSON")),
	} {
		if bytes.Count(line, []byte{'\n'}) != 1 || line[len(line)-1] != '\n' {
			t.Errorf("several lines: %q", line)
		}
		if len(line) > 500 {
			t.Errorf("%d bytes", len(line))
		}
	}
}

func TestErrorTexts(t *testing.T) {
	long := strings.Repeat("x", 1000) + "\xff"
	for _, err := range []error{&RPCError{Code: -1, Message: long}, &MalformedError{Line: excerpt.Head(long, messageCut), Why: "w"}} {
		if text := err.Error(); len(text) > 300 || !utf8.ValidString(text) {
			t.Errorf("%d bytes: %s", len(text), text)
		}
	}
	if NoiseKind(99).String() != "unknown" || NoiseUnsent.String() != "unsent answer" {
		t.Error("the names of noises do not match their kinds")
	}
}

// FuzzEnvelope compares with encoding/json.
func FuzzEnvelope(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"action":"continue"}}`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":[1, 2]},"id":"x"}`,
		`{"error":{"code":-1,"message":"m"},"id":null}`,
		`{"id":1,"\u0069d":2,"result":0,"RESULT":1}`,
		`{"result":{"a":"1","b":[{"c":2}],"\u0061":{"d":{}},"":"\"","b":null},"id":{"x":1}}`, `{"result":{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6}}`,
		`{"result":{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7}}`, `{"result":{"a":1,"b":2},"result":{"b":"x"},"error":{"c":1}}`, `{"result":{"a":1},"result":[{"b":1}]}`,
		"{\"result\":{\"é\":\"é\",\"a\xff\":\"b\xff\"}}", `{"result":{"é":"é","\ud800":1,"\ud801":2}}`, `{"result":{"a": 1,"b":2}}`, "{\"result\":{\"a\": \"\xff\"}}", `{"result":{}}`, `{"result":{ }}`,
		`{"id":1}{"id":2}`, `{}`, `[]`, `{"id"}`, " {\"result\" : \"\xff\"} ", `{"result":1,}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		valid := json.Unmarshal(data, &want) == nil && want != nil
		m, err := scanMessage(data, rawjson.Space(data, 0))
		whole := err == nil && rawjson.Space(data, m.end) == len(data)
		if whole != valid {
			t.Fatalf("scanMessage(%q): %v, encoding/json says %v", data, err, valid)
		}
		if err != nil {
			return
		}
		for name, span := range map[string]rawjson.Span{"id": m.id, "method": m.method, "params": m.params, "result": m.result, "error": m.fault} {
			if whole && string(m.raw(span)) != string(want[name]) {
				t.Fatalf("scanMessage(%q) has %s %q, want %q", data, name, m.raw(span), want[name])
			}
		}
		if m.result.End > 0 {
			checkFields(t, data, &m)
			if got := m.own(NewReader(nil, 1), m.result); !json.Valid(got) || !utf8.Valid(got) || bytes.ContainsAny(got, "\n") {
				t.Fatalf("the result of %q is handed out as %q", data, got)
			}
		}
	})
}

// checkFields compares the fields that a caller of Ask gets with those of a second scan.
func checkFields(t *testing.T, line []byte, m *message) {
	got, err := m.outcome(NewReader(nil, 1), true)
	if err != nil {
		return // an error, or too deep
	}
	want, _ := rawjson.ParseForeign(got.JSON)
	if !reflect.DeepEqual(got.Fields, want) {
		t.Fatalf("%q is split into %q, want %q", line, got.Fields, want)
	}
	for _, f := range got.Fields {
		if cap(f.Value) > len(f.Value) {
			t.Fatalf("%q: appending to %q would overwrite the result", line, f.Name)
		}
	}
}
