package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// TestAnAbortedResultIsWithheld: if a plugin's failure at tool.after aborts the call, the tool's
// own error is withheld too.
func TestAnAbortedResultIsWithheld(t *testing.T) {
	aborted := errors.New("aborted")
	host := ToolHost{
		Fire: func(_ context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
			if point == hook.ToolAfter {
				return nil, aborted
			}
			raw, err := json.Marshal(payload)
			return &hook.Outcome{Point: point, Verdict: hook.Continue, Payload: raw}, err
		},
		Tools: []Tool{{Name: "ls", Run: func(context.Context, Call) (ToolResult, error) {
			return ToolResult{}, errors.New("the password is xyzzy")
		}}},
		Progress: func() func(string) { return func(string) {} },
		Logger:   slog.New(slog.DiscardHandler),
	}
	call := NewToolCall(&host, model.ToolCall{ID: "1", Name: "ls", Arguments: json.RawMessage("{}")})
	if result, err := call.Run(t.Context()); !errors.Is(err, aborted) || result.Output != "" || call.Failure != nil {
		t.Errorf("%+v, %v; the failure is %v", result, err, call.Failure)
	}
}
