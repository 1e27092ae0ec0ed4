package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/conformance"
)

// TestChecksFitTheScreen: the message, the rule and the fix of a check are broken at words.
func TestChecksFitTheScreen(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1")
	c.Width, c.OutTTY = 80, true
	v := &conformView{app: &app{IO: c.IO, out: &output{w: &c.out}}}
	long := strings.TrimSpace(strings.Repeat("an answer without a request ", 6))
	v.result(conformance.Result{ID: "scaffold.rpc.id", Status: conformance.Fail, Message: long, Spec: long, Fix: long})
	for line := range strings.Lines(c.out.String()) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("wider than the screen: %q", line)
		}
	}
	if text := strings.Join(strings.Fields(c.out.String()), " "); strings.Count(text, long) != 3 {
		t.Errorf("words were lost:\n%s", c.out.String())
	}
}
