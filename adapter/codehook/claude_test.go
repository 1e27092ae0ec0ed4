package codehook_test

import (
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
)

const claudeBash = `{"session_id":"s1","transcript_path":"/t","cwd":"/p","prompt_id":"r1","hook_event_name":"PreToolUse",
	"tool_name":"Bash","tool_input":{"command":"ls","description":"look","timeout":5000},"tool_use_id":"c1"}`

func TestClaude(t *testing.T) {
	for _, c := range []struct {
		name, data string
		parts      map[hook.Point]plays
		want       string
	}{
		{"no opinion", claudeBash, nil, ""},
		{"deny", claudeBash, map[hook.Point]plays{hook.ToolBefore: says(hook.Deny, "no ls")},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"refused by plugin guard: no ls"}}`},
		{"rewrite", claudeBash, map[hook.Point]plays{hook.ToolBefore: set("arguments", `{"cmd":"pwd","timeout":7}`)},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"pwd","description":"look","timeout":7000}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parse(t, codehook.Claude, "", c.data).Fire(t.Context(), newTestBed(t, c.parts))
			want := c.want
			if want != "" {
				want += "\n"
			}
			if got.Answer != (codehook.Answer{Stdout: want}) {
				t.Errorf("got %+v\nwant %s\nnotes %q", got.Answer, want, got.Notes)
			}
		})
	}
}
