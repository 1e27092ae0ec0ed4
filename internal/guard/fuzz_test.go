package guard

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzParseMark: the guardian's argument, which anybody can write, is either a mark that is
// formatted as the same text, or an error.
func FuzzParseMark(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"", "/", "1/f", "ffffffffffffffff/ffffffffffffffff", "10000000000000000/1", "-1/1", "a/b/c", "0x1/1", "1_0/1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMark(s)
		if err != nil {
			return
		}
		if again, err := ParseMark(m.String()); err != nil || again != m {
			t.Errorf("%q is %+v, and %q is %+v, %v", s, m, m.String(), again, err)
		}
		if m.Mask == 0 && m.On(m.Value) {
			t.Errorf("%q matches a process", s)
		}
	})
}
