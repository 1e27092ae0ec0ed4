package job

import (
	"time"
)

// An Event names something that happens to a job. Plugins and notifiers get it.
type Event string

// The events of the dotagent protocol.
const (
	Success        Event = "success"
	AttemptFailed  Event = "attempt_failed"
	AttemptTimeout Event = "timed_out"
	RunGivenUp     Event = "given_up"
	RunRecovered   Event = "recovered"
	BeforeRun      Event = "preflight"
	GoneStale      Event = "stale"
	DailySummary   Event = "daily_summary" // manifests may list it, but Patchbay never sends it
)

// A Notice is an event with its details.
type Notice struct {
	Event   Event
	At      time.Time
	Attempt int
	Most    int
	Error   string
	Suggest string
	Exit    *int
	Sink    bool      // a sink failed; the attempt itself succeeded
	NextAt  time.Time // when the next attempt is; zero: there is none
	Merged  bool      // a later notice of the same moment includes this one: see [markMerged]
}

// markMerged marks the notices that a later one of the same moment includes: a failed attempt
// before given_up, and a success before recovered. Built-in notifiers that list no events leave the
// marked ones out, so that a person gets one message. Plugins get every event.
func markMerged(notices []Notice) []Notice {
	for i := range notices {
		n := &notices[i]
		for _, later := range notices[i+1:] {
			failed := (n.Event == AttemptFailed || n.Event == AttemptTimeout) && later.Event == RunGivenUp
			n.Merged = n.Merged || failed || n.Event == Success && later.Event == RunRecovered
		}
	}
	return notices
}

// applyResult applies the result of an attempt to its run and to the state of the schedule. It
// returns the events to report, in order. docs/jobs.md, "Attempts and events", has the rules as a
// table:
//   - The last failed attempt gives attempt_failed, then given_up.
//   - A success after a failure gives success, then recovered.
//   - A failed sink gives attempt_failed; the run has succeeded nevertheless.
//   - A timeout gives timed_out in place of attempt_failed.
func applyResult(r *Run, s *State, a Attempt, backoff []time.Duration) []Notice {
	r.Attempts[len(r.Attempts)-1] = a
	switch a.Result {
	case OK:
		return succeed(r, s, a)
	case WasCancelled: // no event: it is neither a failure nor a success
		r.Reason = a.Error
		endRun(r, s, Cancelled, a.Ended)
		return nil
	case Stopped: // no event: the next daemon makes another attempt immediately
		r.Most++
		r.Status, r.NextAt, s.NextAt = Waiting, a.Ended, a.Ended
		return nil
	}
	s.Failing = true
	event := AttemptFailed
	if a.Result == TimedOut {
		event = AttemptTimeout
	}
	n := Notice{Event: event, At: a.Ended, Attempt: a.Number, Most: r.Most, Error: a.Error, Suggest: a.Suggest, Exit: a.ExitCode}
	if a.Number < r.Most {
		r.Status, r.NextAt = Waiting, a.Ended.Add(backoffAfter(backoff, a.Number))
		s.NextAt, n.NextAt = r.NextAt, r.NextAt
		return []Notice{n}
	}
	return []Notice{n, giveUp(r, s, n)}
}

// giveUp ends a run after the failure that n describes. It returns the notice that the run was
// given up.
func giveUp(r *Run, s *State, n Notice) Notice {
	endRun(r, s, GivenUp, n.At)
	s.Failing, s.Streak = true, min(s.Streak, 0)-1
	n.Event, n.NextAt = RunGivenUp, time.Time{}
	return n
}

func succeed(r *Run, s *State, a Attempt) []Notice {
	notices := []Notice{{Event: Success, At: a.Ended, Attempt: a.Number, Most: r.Most, Exit: a.ExitCode}}
	if s.Failing || s.Stale {
		r.Recovered = true
		notices = append(notices, Notice{Event: RunRecovered, At: a.Ended, Attempt: a.Number, Most: r.Most})
	}
	for fault, fix := range a.SinkErrors() {
		notices = append(notices, Notice{Event: AttemptFailed, At: a.Ended, Attempt: a.Number, Most: r.Most, Error: fault, Suggest: fix, Sink: true})
	}
	endRun(r, s, Succeeded, a.Ended)
	s.Failing, s.Stale, s.Success = false, false, a.Ended
	s.Streak = max(s.Streak, 0) + 1
	return notices
}

// endRun ends a run with a status.
func endRun(r *Run, s *State, status Status, at time.Time) {
	r.Status, r.Ended, r.NextAt = status, at, time.Time{}
	s.Active, s.NextAt, s.Attempt = "", time.Time{}, 0
	s.LastRun, s.Last = r.ID, status
}

// backoffAfter returns how long to wait after the nth attempt. The last entry of the list also
// holds for all later attempts.
func backoffAfter(backoff []time.Duration, n int) time.Duration {
	if len(backoff) == 0 {
		return 0
	}
	return backoff[min(n, len(backoff))-1]
}

// staleAt returns when a schedule becomes overdue: its first tick after the last success, or after
// the schedule was first seen, plus the time that it may be late. It returns zero if the schedule
// has no such limit, or if stale was reported already.
func staleAt(s *State, next func(time.Time) time.Time, after time.Duration) time.Time {
	if s.Stale || after <= 0 {
		return time.Time{}
	}
	from := s.Since
	if s.Success.After(from) {
		from = s.Success
	}
	due := next(from)
	if due.IsZero() {
		return time.Time{}
	}
	return due.Add(after)
}
