package dialect

import (
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

// TestConnection: an entry is found in any table. The error names the points that are possible.
func TestConnection(t *testing.T) {
	own := []Spot{{"begin", hook.TurnBegin}, {"end", hook.TurnDone}}
	more := []Spot{{"begin", hook.SessionStart}}
	same := func(s *Spot) Spot { return *s }
	if got, err := Connection("d", more[0], same, own, more); got != &more[0] || err != nil {
		t.Errorf("an entry of the second table: %v, %v", got, err)
	}
	for want, spot := range map[string]Spot{
		`d hook begin cannot be called at tool.before; connect it to turn.begin, session.start`: {"begin", hook.ToolBefore},
		`there is no d hook "start"`: {"start", hook.TurnBegin},
	} {
		if got, err := Connection("d", spot, same, own, more); got != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v; want %q", got, err, want)
		}
	}
	if got := Points(own, same); !slices.Equal(got, []hook.Point{hook.TurnBegin, hook.TurnDone}) {
		t.Errorf("points %v", got)
	}
}
