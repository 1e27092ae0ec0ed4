//go:build linux

package hosttest

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRecipes: each agent runs a turn as its recipe says and starts its hooks, without Patchbay. If
// this fails, the agent has changed, not Patchbay.
func TestRecipes(t *testing.T) {
	each(t, func(s *stage) {
		log := filepath.Join(s.home, "events")
		s.product.hooks(s, `cat >/dev/null; echo "$EVENT" >>`+log)
		s.run("please begin", []string{"echo one >one; cat one"}, []string{"echo two"})

		s.wantFile("one", "one\n")
		s.wantResult(0, "one")
		s.wantResult(1, "two")
		if !s.last().Says("please begin") {
			s.Error("the model was not sent the user's message")
		}
		s.contains("the output", s.output, done)
		events, _ := s.read(log)
		s.Logf("events: %s", strings.Join(strings.Fields(events), " "))
		if events == "" {
			s.Error("no hook was started")
		}
	})
}
