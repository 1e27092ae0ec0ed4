package codehook_test

import (
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// TestEventsOfOtherAgentsAreForeign: every event of Cursor and of Copilot CLI that reaches the
// hooks of Claude Code is recognised as foreign.
func TestEventsOfOtherAgentsAreForeign(t *testing.T) {
	for _, s := range samples(t, hostSamples(t)) {
		m, err := codehook.Parse(codehook.Input{Agent: codehook.Claude, Event: s.event, Data: s.data})
		if err != nil {
			t.Fatal(err)
		}
		others := s.agent == codehook.Cursor || s.agent == codehook.Copilot
		if others && len(m.Points()) > 0 || others && m.NoOpinion() != (codehook.Answer{Stdout: "{}\n"}) {
			t.Errorf("%s: %v, %+v", s.name, m.Points(), m.NoOpinion())
		}
		if s.agent == codehook.Claude && s.what != "" && len(m.Points()) == 0 {
			t.Errorf("%s is taken for an event of another agent", s.name)
		}
	}
}
