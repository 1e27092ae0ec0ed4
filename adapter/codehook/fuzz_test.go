package codehook_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzAnswer: for any event, and anything that plugins do with it, the answer is valid for the
// agent. A refusal is never lost.
func FuzzAnswer(tf *testing.F) {
	f := variants.Of(tf)
	for i, s := range samples(f, filepath.Join("testdata", "events")) {
		f.Add(string(s.agent), s.event, s.data, uint8(i))
	}
	f.Add("claude", "PreToolUse", []byte(`{"tool_name":"Bash","tool_input":{"timeout":-1e400,"command":"\ud800"}}`), uint8(1))
	f.Add("cursor", "postToolUse", []byte(`{"tool_name":"MCP:x","tool_output":"{\"content\":[{\"text\":\"a\"}]}"}`), uint8(4))
	all := behaviours()
	f.Fuzz(func(t *testing.T, agent, event string, data []byte, n uint8) {
		in := codehook.Input{Agent: codehook.Agent(agent), Event: event, Data: data}
		m, err := codehook.Parse(in)
		if err != nil {
			return
		}
		b := all[int(n)%len(all)]
		host := newTestBed(t, b.parts)
		if b.on != "" {
			host = newTestBed(t, b.parts, b.on)
		}
		r := m.Fire(t.Context(), host)
		j := judge{agent: m.Agent, event: m.Event, answer: r.Answer}
		if j.data, err = one(string(data)); err != nil {
			t.Fatalf("%q was accepted, but is not JSON: %v", data, err)
		}
		v, err := j.check()
		if err != nil {
			t.Fatalf("%s %s, %s: %v\nanswer: %+v", agent, m.Event, b.name, err, r.Answer)
		}
		refuses := b.name == "deny" || b.name == "crash, closed" || b.name == "slow, closed"
		if refuses && slices.Contains(m.Points(), hook.ToolBefore) && !v.denied {
			t.Errorf("%s %s, %s: let through: %+v", agent, m.Event, b.name, r.Answer)
		}
	})
}
