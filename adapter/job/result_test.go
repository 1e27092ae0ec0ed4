package job

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestApplyResult checks the events of each result, and their order.
func TestApplyResult(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	backoff := []time.Duration{5 * time.Minute, 15 * time.Minute}
	for _, c := range []struct {
		rule   string
		state  State
		number int
		result Result
		sinks  []string
		want   []Event
		status Status
		next   time.Duration
	}{
		{rule: "a success", number: 1, result: OK, want: []Event{Success}, status: Succeeded},
		{rule: "success after a failure emits success, then recovered", state: State{Failing: true}, number: 2, result: OK,
			want: []Event{Success, RunRecovered}, status: Succeeded},
		{rule: "success after stale emits success, then recovered", state: State{Stale: true}, number: 1, result: OK, want: []Event{Success, RunRecovered}, status: Succeeded},
		{rule: "a failed sink does not undo the run", number: 1, result: OK, sinks: []string{"full"}, want: []Event{Success, AttemptFailed}, status: Succeeded},
		{rule: "a failed attempt", number: 1, result: Failed, want: []Event{AttemptFailed}, status: Waiting, next: 5 * time.Minute},
		{rule: "a refused attempt counts", number: 2, result: Refused, want: []Event{AttemptFailed}, status: Waiting, next: 15 * time.Minute},
		{rule: "a time-out emits timed_out in place of attempt_failed", number: 1, result: TimedOut, want: []Event{AttemptTimeout}, status: Waiting, next: 5 * time.Minute},
		{rule: "an attempt that was cut off counts as failed", number: 1, result: CutOff, want: []Event{AttemptFailed}, status: Waiting, next: 5 * time.Minute},
		{rule: "an attempt that was stopped with its daemon does not count, even if it was the last", number: 3, result: Stopped, status: Waiting},
		{rule: "a cancelled attempt is neither a success nor a failure", state: State{Streak: 4}, number: 1, result: WasCancelled, status: Cancelled},
		{rule: "a cancelled attempt does not end a series of failures", state: State{Streak: -2, Failing: true}, number: 2, result: WasCancelled, status: Cancelled},
		{rule: "the last failed attempt emits attempt_failed, then given_up", number: 3, result: Failed, want: []Event{AttemptFailed, RunGivenUp}, status: GivenUp},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := Run{ID: "a/b/c", Most: 3, Attempts: make([]Attempt, c.number)}
			s := c.state
			notices := applyResult(&r, &s, Attempt{Number: c.number, Result: c.result, Ended: at, Sinks: c.sinks}, backoff)
			if len(notices) != len(c.want) {
				t.Fatalf("told %+v, want %v", notices, c.want)
			}
			for i, n := range notices {
				if n.Event != c.want[i] {
					t.Errorf("told %+v, want %v", notices, c.want)
				}
			}
			if r.Status != c.status || c.next > 0 && !r.NextAt.Equal(at.Add(c.next)) {
				t.Errorf("run %+v, state %+v", r, s)
			}
			if c.result == WasCancelled {
				if s.Failing != c.state.Failing || s.Streak != c.state.Streak {
					t.Errorf("state %+v, was %+v", s, c.state)
				}
			} else if s.Failing != (c.result != OK && c.result != Stopped) {
				t.Errorf("state %+v", s)
			}
		})
	}
}

// TestSentences: events are logged as sentences. A run that gave up is an error.
func TestSentences(t *testing.T) {
	run := &Run{ID: "a/daily/1", Agent: "a", Schedule: "daily"}
	var text strings.Builder
	r := &Runner{Logger: slog.New(slog.NewTextHandler(&text, nil))}
	for _, n := range markMerged([]Notice{{Event: AttemptFailed, Attempt: 3, Most: 3, Error: "exit code 1"}, {Event: RunGivenUp, Attempt: 3, Most: 3, Error: "exit code 1", Suggest: "rm x"}}) {
		r.logNotice(run, &n)
	}
	for _, want := range []string{
		`level=WARN msg="agent a (schedule daily): attempt 3 of 3 failed: exit code 1" run=a/daily/1`,
		`level=ERROR msg="agent a (schedule daily) gave up after 3 of 3 attempts: exit code 1" run=a/daily/1 fix="rm x"`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
