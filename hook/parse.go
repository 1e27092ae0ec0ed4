package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// UnmarshalJSON reads the output of [Trace.MarshalJSON]. A trace does not say when the event began,
// so the first call starts at the zero time. Traces of earlier versions have no start_us: each of
// their steps starts when the one before ended, or at a Notify point all start at once. A trace has
// only the text, the kind and the action of an error.
func (t *Trace) UnmarshalJSON(text []byte) error {
	var v readOutcome
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	t.Outcome = &Outcome{Point: v.Point, Verdict: v.Verdict, Reason: v.Reason, Suggest: v.Suggest, By: v.By, Payload: v.Payload,
		Steps: make([]Step, len(v.Steps))}
	spec, _ := v.Point.Spec()
	var next time.Time
	for i := range v.Steps {
		t.Steps[i] = v.Steps[i].step()
		t.Steps[i].Started = next
		if start := v.Steps[i].StartUS; start != nil {
			t.Steps[i].Started = time.Time{}.Add(time.Duration(*start) * time.Microsecond)
		}
		if spec.Mode != Notify {
			next = t.Steps[i].Started.Add(t.Steps[i].Duration)
		}
	}
	return nil
}

// readOutcome and readStep exist because encoding/json cannot fill in an embedded pointer.
type (
	readOutcome struct {
		outcomeJSON
		Steps []readStep `json:"steps"`
	}
	readStep struct {
		stepJSON
		StartUS  *int64          `json:"start_us"`
		Sent     json.RawMessage `json:"sent"`
		Received json.RawMessage `json:"received"`
		Diff     []Change        `json:"diff"`
	}
)

func (v *readStep) step() Step {
	s := Step{Plugin: v.Plugin, Dialect: v.Dialect, Hook: v.Hook, Connected: v.Connected, Verdict: v.Verdict, Changed: v.Changed,
		Duration: time.Duration(v.DurationUS) * time.Microsecond, Notes: v.Notes, Sent: present(v.Sent), Received: present(v.Received), diff: v.Diff}
	if v.Error != nil {
		s.Err, s.Action = &Error{Kind: v.ErrorKind, Err: errors.New(*v.Error)}, v.OnFailure
	}
	return s
}

// present returns nil for null, which stands for a missing value, and otherwise v.
func present(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}
