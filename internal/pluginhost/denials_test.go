package pluginhost

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// TestDenialsAreCounted: the trace counts the denials that it does not list, and those that the
// sandbox did not report one by one.
func TestDenialsAreCounted(t *testing.T) {
	var d denials
	for range mostDenials {
		d.add(sandbox.Denial{What: "connect", Dropped: 1})
	}
	d.add(sandbox.Denial{What: "connect", Dropped: 3})
	texts := d.take()
	if want := "sandbox: and 24 more denials"; len(texts) != mostDenials+1 || !strings.Contains(texts[mostDenials], want) {
		t.Errorf("%d texts, the last is %q, want %q", len(texts), texts[len(texts)-1], want)
	}
}
