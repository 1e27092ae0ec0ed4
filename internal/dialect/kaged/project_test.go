package kaged

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// contextOf returns the `_context` of the last call that the fake received.
func (r *rig) contextOf() map[string]string {
	r.t.Helper()
	all := r.received()
	var params struct {
		Context map[string]string `json:"_context"`
	}
	if err := json.Unmarshal(all[len(all)-1].Params, &params); err != nil {
		r.t.Fatal(err)
	}
	return params.Context
}

// TestCallsByHandHaveOneSession: calls without a session get the same id every time, one for each
// project: docs/protocols/kaged.md, row K70.
func TestCallsByHandHaveOneSession(t *testing.T) {
	ids := make(map[string]string)
	for _, root := range []string{"/srv/garden", "/srv/garden", "/srv/kitchen"} {
		r := newRig(t, "fake", someTools)
		r.runtime.ProjectRoot = root
		if _, err := r.open().CallTool(t.Context(), "fake.add", json.RawMessage(`{"text":"x"}`)); err != nil {
			t.Fatal(err)
		}
		id := r.contextOf()["session_id"]
		if known := ids[root]; id == "" || known != "" && known != id {
			t.Errorf("session %q in %s, %q before", id, root, known)
		}
		ids[root] = id
	}
	if ids["/srv/garden"] == ids["/srv/kitchen"] {
		t.Errorf("two projects have one session: %v", ids)
	}
}

// TestAMessageIsRetainedOnce: a message that an earlier plugin retained is not retained again,
// however its JSON is written: docs/protocols/kaged.md, row K65.
func TestAMessageIsRetainedOnce(t *testing.T) {
	payload, err := object(json.RawMessage(`{"retain":[{"role":"user","content":"né"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := retained(plugtest.Result(`{"retain":[{"content":"n\u00e9","role":"user"},{"role":"user","content":"b"}]}`), payload)
	if got := string(reply.Set.Get("retain")); err != nil || got != `[{"role":"user","content":"b"}]` {
		t.Errorf("retained %s (%v)", got, err)
	}
	reply, err = retained(plugtest.Result(`{"retain":[{"role":"user","content":"b"}]}`), nil)
	if got := string(reply.Set.Get("retain")); err != nil || !strings.Contains(got, `"b"`) {
		t.Errorf("retained %s (%v)", got, err)
	}
}
