package session

import (
	"reflect"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// FuzzSession reads a record that another version may have written: it is the session asked for, with a list of plugins, and
// it survives being written again; or it is an error.
func FuzzSession(f *testing.F) {
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
