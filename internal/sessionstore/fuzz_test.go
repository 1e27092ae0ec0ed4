package sessionstore

import (
	"reflect"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// FuzzSession decodes a record that another version may have written. The result is an error, or
// the wanted session with a list of plugins, which stays the same when it is encoded again.
func FuzzSession(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"id":"ses_1","plugins":["a"],"working_dir":"/w","created_at":"2026-01-02T03:04:05Z","title":"t"}`, `{"id":"ses_1"}`, `{"id":"ses_2"}`, `{"ID":"ses_1","plugins":null}`,
		`{"id":"ses_1","created_at":"0000-01-01T00:00:00+23:59"}`, `{"id":"ses_1","title":"\ud800"}`, `null`, `[]`, "{\"id\":\"ses_1\",\"title\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSession(engine.Value{Key: "ses_1", Data: data})
		if err != nil {
			return
		}
		if s.ID != "ses_1" || s.Plugins == nil {
			t.Errorf("%q is %+v", data, s)
		}
		text, err := encodeSession(&s)
		if err != nil {
			t.Fatalf("%q: %+v cannot be written: %v", data, s, err)
		}
		if again, err := decodeSession(engine.Value{Key: "ses_1", Data: text}); err != nil || !again.CreatedAt.Equal(s.CreatedAt) || !reflect.DeepEqual(again.Plugins, s.Plugins) || again.Title != s.Title {
			t.Errorf("%q is %+v, then %+v: %v", data, s, again, err)
		}
	})
}

// FuzzSaid decodes an entry in two ways. If both succeed, the results are equal.
func FuzzSaid(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"turn":"t","time":"2026-01-02T03:04:05Z","message":{"role":"user","content":"a\n\u00fc"},"base":1,"earlier":2,"open":3}`, `{"status":"began","claim":{"a":[1]}}`,
		`{"Status":"done"}`, `{"status":null}`, `{"message":null,"status":"done"}`, `{"message":{"role":"user"},"message":{"content":"b"}}`, `{"message":{"role":"tool","content":"x","failed":true}}`,
		`{"compaction":{"messages":[]}}`, `{"status":"done"} x`, "{\"message\":{\"role\":\"user\",\"content\":\"\xff\"}}", `{"status":"done","status":""}`, `{"message":{"role":"user","role":"x"}}`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeSaid(data)
		whole, wholeErr := decodeKept(engine.Record{Sequence: 1, Data: data})
		if err != nil || wholeErr != nil { // decodeSaid ignores a broken time
			return
		}
		want := session.Entry{Message: whole.Message, Compaction: whole.Compaction, Status: whole.Status}
		if !reflect.DeepEqual(got.Entry, want) {
			t.Errorf("%q is %+v, wanted %+v", data, got.Entry, want)
		}
	})
}
