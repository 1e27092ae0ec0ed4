package model

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestLooseTypes: a text is the value or its JSON. A number is the integer part, or 0 if it is not
// exact.
func TestLooseTypes(t *testing.T) {
	for _, c := range []struct {
		json string
		text looseText
		n    looseInt
	}{
		{`"a\n"`, "a\n", 0},
		{`""`, "", 0},
		{`null`, "", 0},
		{`12`, "12", 12},
		{`"12"`, "12", 12},
		{`12.9`, "12.9", 12},
		{`-3`, "-3", -3},
		{`9007199254740992`, "9007199254740992", 1 << 53},
		{`9007199254740994`, "9007199254740994", 0},
		{`1e400`, "1e400", 0},
		{`"NaN"`, "NaN", 0},
		{`"-Inf"`, "-Inf", 0},
		{`true`, "true", 0},
		{`{"a": 1}`, `{"a": 1}`, 0},
		{`[1]`, `[1]`, 0},
	} {
		var got struct {
			Text looseText
			N    looseInt
		}
		if err := decode([]byte(`{"text":`+c.json+`,"n":`+c.json+`}`), &got); err != nil || got.Text != c.text || got.N != c.n {
			t.Errorf("%s: got %q, %d, %v", c.json, got.Text, got.N, err)
		}
	}
}

// FuzzLoose decodes a value as a text and as a number. It fails exactly if the JSON is invalid, and
// agrees with encoding/json on values of the right type.
func FuzzLoose(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`"a"`, `"\ud800"`, `12`, `"12"`, `-1.5e3`, `null`, `{"a":[1]}`, `"`, `1 2`, "\"\xff\"", `1e999`, `}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		data := append(append(append([]byte(`{"text":`), value...), `,"n":`...), value...)
		data = append(data, '}')
		var got struct {
			Text looseText
			N    looseInt
		}
		err := decode(data, &got)
		if (err == nil) != json.Valid(data) {
			t.Fatalf("%q: %v", value, err)
		}
		var s string
		if json.Unmarshal(value, &s) == nil && err == nil && string(got.Text) != s {
			t.Errorf("%q: text %q, encoding/json has %q", value, got.Text, s)
		}
		var n int32
		if json.Unmarshal(value, &n) == nil && err == nil && int32(got.N) != n {
			t.Errorf("%q: number %d, encoding/json has %d", value, got.N, n)
		}
		if got.N > 1<<53 || got.N < -1<<53 {
			t.Errorf("%q: number %d", value, got.N)
		}
	})
}

// FuzzEventData lets both providers decode one event. An event that is not a JSON object is an
// error; otherwise text and calls stay within their limits.
func FuzzEventData(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":3}}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"i","name":"n"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":"7"}}`,
		`{"type":"message_stop"}`, `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, `{"choices":[{"delta":{"content":"a","tool_calls":[{"index":-1,"id":"x","function":{"name":"n","arguments":{}}}]},"finish_reason":"stop"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, `{"error":"text"}`, `{"error":null}`, `[]`, `null`, `{`, "{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}",
		"{\"choices\":[{\"delta\":{\"content\":[\"\xff\"]}}]}",
	} {
		f.Add("", []byte(seed))
		f.Add("content_block_delta", []byte(seed))
		f.Add("error", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if len(data) == 0 {
			return // the reader skips events without data
		}
		for _, p := range []provider{newAnthropic(endpoint{}, "m"), newOpenAI(endpoint{}, "m")} {
			r := newReply(&prepared{}, func(Delta) {})
			err := p.addEvent(event{name: name, data: data}, r)
			if err == nil && !json.Valid(data) && name != "ping" {
				t.Errorf("%T took %q", p, data)
			}
			if resp := r.response(); !utf8.ValidString(resp.Text) || len(resp.ToolCalls) > maxCalls {
				t.Errorf("%T made %+v of %q", p, resp, data)
			}
			if r.closed && !r.ended {
				t.Errorf("%T: %q closes a reply that is not complete", p, data)
			}
		}
	})
}
