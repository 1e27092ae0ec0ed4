package pluginhost

import (
	"errors"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestAmbiguousName: every dialect with a plugin of the name is listed, whatever their order.
func TestAmbiguousName(t *testing.T) {
	r := &roster{}
	for _, d := range []string{"kaged", "kaged", "python", "scaffold"} {
		f := dialect.Found{Dialect: d, Name: "notes"}
		r.entries = append(r.entries, &entry{found: f, names: namesOf(f), info: dialect.Info{Name: "notes"}})
	}
	const want = "plugin notes: several plugins have this name: one of kaged and one of python and one of scaffold; write kaged:notes or python:notes or scaffold:notes"
	if _, err := r.find("notes"); !errors.Is(err, ErrAmbiguous) || err.Error() != want {
		t.Errorf("%v", err)
	}
	r.entries = r.entries[:2]
	if e, err := r.find("notes"); err != nil || e != r.entries[0] {
		t.Errorf("two of one dialect: %v", err)
	}
}
