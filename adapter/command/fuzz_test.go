package command

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzPayload: a payload that plugins left is read as a whole or not at all, and a command that was
// read is the same after it was written and read again.
func FuzzPayload(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"command":"todo.add","args":["a"],"flags":{"due":"x"},"result":{"n":1},"timestamp":"2026-01-15T10:30:00Z"}`, `{"args":null,"flags":null,"result":null}`, `{"args":[1]}`, `{"flags":{"a":1}}`, `null`, `{"COMMAND":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	at := time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, raw []byte) {
		was := Command{Name: "c", Args: []string{"a"}, Time: at}
		c := was
		if c.read(raw) != nil {
			if !reflect.DeepEqual(c, was) {
				t.Errorf("%q left %+v behind", raw, c)
			}
			return
		}
		text, err := json.Marshal(c.payload())
		if err != nil {
			t.Fatalf("%q became %+v: %v", raw, c, err)
		}
		var again Command
		again.Time = at
		if err := again.read(text); err != nil || again.Name != c.Name || len(again.Args) != len(c.Args) || len(again.Flags) != len(c.Flags) || !c.Time.Equal(at) {
			t.Errorf("%q is %+v, then %+v: %v", raw, c, again, err)
		}
	})
}
