package nearest

import (
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzWord: any word leads to one of the allowed words or to none, however long it is, and an
// allowed word leads to itself.
func FuzzWord(tf *testing.F) {
	f := variants.Of(tf)
	for _, word := range []string{"", "prefligth", "PREFLIGHT", "sink", "snik", "\xff\xff", "preexec preexec preexec preexec preexec preexec preexec preexec x"} {
		f.Add(word)
	}
	allowed := []string{"preflight", "sink", "notify", "on_tool_call"}
	f.Fuzz(func(t *testing.T, word string) {
		got := Word(word, allowed)
		if got != "" && !slices.Contains(allowed, got) || slices.Contains(allowed, word) && got != word {
			t.Errorf("%q leads to %q", word, got)
		}
		if distance(word[:min(len(word), longest)], "sink") < 0 {
			t.Errorf("the allowed word %q does not lead to itself", word)
		}
	})
}
