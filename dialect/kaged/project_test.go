package kaged

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

// contextOf is the `_context` of the last call a fake received.
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

// TestTheProjectIsTheSessions: a session may work in another project than the daemon, and its calls say so.
func TestTheProjectIsTheSessions(t *testing.T) {
	r := newRig(t, "fake", someTools+"hooks: [on_session_idle]\n")
	p := r.open()
	ctx := hook.WithProject(hook.WithSession(t.Context(), "s1"), "/srv/garden")
	if _, err := p.CallTool(ctx, "fake.add", json.RawMessage(`{"text":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if c := r.contextOf(); c["project_root"] != "/srv/garden" || c["project_id"] != "garden" || c["session_id"] != "s1" {
		t.Errorf("a tool's _context %v", c)
	}
	if _, err := p.Hooks()[0].Call(ctx, &hook.Event{Point: hook.SessionIdle}); err != nil {
		t.Fatal(err)
	}
	if c := r.contextOf(); c["project_root"] != "/srv/garden" || c["project_id"] != "garden" {
		t.Errorf("a hook's _context %v", c)
	}
	if _, err := p.Hooks()[0].Call(t.Context(), &hook.Event{Point: hook.SessionIdle}); err != nil {
		t.Fatal(err)
	}
	if c := r.contextOf(); c["project_root"] != r.runtime.ProjectRoot || c["project_id"] != r.runtime.ProjectID {
		t.Errorf("without a session: _context %v", c)
	}
}

// TestCallsByHandHaveOneSession: calls without a session have the same id every time, one for each project.
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

// TestAMessageIsRetainedOnce: what a plugin before has retained is not retained again, however it is spelled.
func TestAMessageIsRetainedOnce(t *testing.T) {
	payload, err := object(json.RawMessage(`{"retain":[{"role":"user","content":"né"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := retained(json.RawMessage(`{"retain":[{"content":"n\u00e9","role":"user"},{"role":"user","content":"b"}]}`), payload)
	if got := string(reply.Set.Get("retain")); err != nil || got != `[{"role":"user","content":"b"}]` {
		t.Errorf("retained %s (%v)", got, err)
	}
	reply, err = retained(json.RawMessage(`{"retain":[{"role":"user","content":"b"}]}`), nil)
	if got := string(reply.Set.Get("retain")); err != nil || !strings.Contains(got, `"b"`) {
		t.Errorf("retained %s (%v)", got, err)
	}
}
