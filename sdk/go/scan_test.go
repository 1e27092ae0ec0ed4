package plugin

import (
	"encoding/json"
	"testing"
)

// FuzzMembers: the scanner and encoding/json find the same fields in every valid object.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, ` { "a" : [1,{"b":"]}"}] , "c\"d":"e\\" } `, `{"a":"\u00e9\\\""}`, `{"a":1}x`, `{"a"}`, `{"a":}`, `[`, `{"a":"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := make(map[string]json.RawMessage)
		err := members(data, func(name, value []byte) { got[string(name)] = append(json.RawMessage(nil), value...) })
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return // a value is decoded before it is used, which finds its faults
		}
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		for name, value := range want {
			if string(got[name]) != string(value) && json.Valid([]byte(name)) {
				t.Errorf("%q: %q is %q, want %q", data, name, got[name], value)
			}
		}
	})
}

// FuzzAppendString: every text becomes a JSON string that encoding/json reads as the same text.
func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "é\"\\\n\r\t\x00\x1f", "\xff\xc3", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want string
		encoded, err := json.Marshal(text)
		if err != nil || json.Unmarshal(encoded, &want) != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(appendString(nil, text), &got); err != nil || got != want {
			t.Errorf("%q reads back as %q, %v; want %q", text, got, err, want)
		}
	})
}

// FuzzMessage: no line makes the parser panic, and an accepted id is valid JSON.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","method":"a","id":1}`, `{"jsonrpc":"2.0","method":"\"","id":"x"}`, `{"jsonrpc":"2.0","method":1}`, `{"jsonrpc":2,"id":tru}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if m, ok := parseMessage(line); ok && m.id != nil && !json.Valid(m.id) {
			t.Errorf("%q has the id %q", line, m.id)
		}
	})
}
