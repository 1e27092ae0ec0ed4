package pluginhost

import (
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestNoProtocolClosesAnAgentsPointByItself: if a plugin cannot be called, no protocol refuses the
// events of an agent for that reason; only the configuration can. A hook program that has never
// reached a daemon relies on that: docs/hosts/daemon.md.
func TestNoProtocolClosesAnAgentsPointByItself(t *testing.T) {
	fired := make(map[hook.Point]bool)
	for _, agent := range codehook.Agents() {
		for _, event := range codehook.Events(agent) {
			for _, p := range event.Points {
				fired[p] = true
			}
		}
	}
	if len(fired) < 10 {
		t.Fatalf("only %d points", len(fired))
	}
	looked := 0
	for _, d := range dialects(nil) {
		for _, p := range d.Points() {
			spec, _ := p.Spec()
			if !fired[p] || spec.Mode == hook.Notify {
				continue
			}
			looked++
			if action := dialect.Failures.Action(d.Name(), spec.Mode, hook.Unavailable); action != hook.ActionSkip {
				t.Errorf("%s at %s: %s", d.Name(), p, action)
			}
		}
	}
	if looked < 8 {
		t.Errorf("only %d native hooks were looked at", looked)
	}
}
