package daemon

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

// TestThePipeline: the plugins are listed at their own points and at connected ones, and the sample
// of each point can be fired.
func TestThePipeline(t *testing.T) {
	h := kagedHome(t)
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n[[connect]]\nplugin = \"notes\"\nhook = \"on_session_start\"\npoint = \"prompt.context\"\n")
	s := h.serve("", Limits{})
	var p pipeline
	if got := s.do("GET", "/v1/pipeline", ""); got.status != 200 || json.Unmarshal([]byte(got.body), &p) != nil || len(p.Points) != len(hook.Points()) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for _, point := range p.Points {
		connected := point.Point == "prompt.context"
		if !connected && point.Point != "session.start" {
			continue
		}
		if len(point.Plugins) != 1 || point.Plugins[0].Plugin != "notes" || point.Plugins[0].Connected != connected || point.Plugins[0].State != "ready" {
			t.Errorf("%+v", point)
		}
	}
	if len(p.Connectable) != 1 || !slices.Contains(p.Connectable[0].Hooks[0].Points, "prompt.context") {
		t.Errorf("%+v", p.Connectable)
	}
	for _, point := range p.Points { // each point accepts its sample
		body, err := json.Marshal(map[string]any{"point": point.Point, "data": point.Sample})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.do("POST", "/v1/fire", string(body)); got.status != 200 {
			t.Errorf("%s: %d %s", point.Point, got.status, got.body)
		}
	}
}
