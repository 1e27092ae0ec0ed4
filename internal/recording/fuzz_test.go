package recording

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// FuzzRead checks that a file is refused with a short error that names the file, or can be replayed
// completely.
func FuzzRead(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte(head + `{"type":"tool","n":1,"plugin":"a","name":"b","input":{}}` + "\n" + `{"type":"end","entries":1}` + "\n"))
	f.Add([]byte(head + `{"type":"event","point":"turn.input","steps":[{"plugin":"a","hook":"b","nth":-1}]}` + "\n"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Read(path, true)
		if err != nil {
			if len(err.Error()) > 2000 || !strings.Contains(err.Error(), path) {
				t.Errorf("the error is %q", err)
			}
			return
		}
		for _, c := range r.calls() {
			if name, _ := c.plugin(); name == "" {
				t.Errorf("a call of no plugin: %+v", c.entry)
			}
		}
	})
}

// FuzzScrub checks that a scrubbed value is still JSON, and that no string contains a secret.
func FuzzScrub(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte(`{"a":"hunter22","b":["\u0068unter22",1234567,{"hunter22":null}]}`))
	f.Add([]byte(`"x\"hunter22\\"`))
	s := newScrubber([]string{"hunter22", "1234567", "abc"})
	f.Fuzz(func(t *testing.T, text []byte) {
		if rawjson.Check(text) != nil {
			return
		}
		out := s.json(text)
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%s became %s: %v", text, out, err)
		}
		if again, _ := json.Marshal(v); strings.Contains(string(again), "hunter22") {
			t.Errorf("%s became %s", text, out)
		}
	})
}
