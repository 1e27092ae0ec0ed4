package job

import (
	"time"
)

// An Event is something that happens to a job, as plugins and notifiers are told of it.
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
	DailySummary   Event = "daily_summary" // dotagent's own: manifests may list it, and no run of ours gives it
)

// A Notice is an event with what is to be told about it.
type Notice struct {
	Event   Event
	At      time.Time
	Attempt int
	Most    int
	Error   string
	Suggest string
	Exit    *int
	Sink    bool      // a sink failed: the attempt itself did not
	NextAt  time.Time // of the attempt that follows; zero: none does
	Merged  bool      // the notice that follows at once says the same and more: see [merge]
}

// merge marks the notices that a later one of the same moment includes: a failed attempt in
// given_up, a success in recovered. Built-in notifiers that name no events leave those out, so that
// a person gets one message. Plugins get every event.
func merge(notices []Notice) []Notice {
	for i := range notices {
		n := &notices[i]
		for _, later := range notices[i+1:] {
			failed := (n.Event == AttemptFailed || n.Event == AttemptTimeout) && later.Event == RunGivenUp
			n.Merged = n.Merged || failed || n.Event == Success && later.Event == RunRecovered
		}
	}
	return notices
}

// applyResult records what an attempt came to, in the run and in the state of its schedule, and
// says what is to be told, in order. docs/jobs.md has the table: "The last failed attempt emits
// attempt_failed, then given_up. Success after a failure emits success, then recovered. A failed
// sink emits attempt_failed and does not undo the run. A time-out emits timed_out in place of
// attempt_failed."
func applyResult(r *Run, s *State, a Attempt, backoff []time.Duration) []Notice {
	r.Attempts[len(r.Attempts)-1] = a
	switch a.Result {
	case OK:
		return succeed(r, s, a)
	case WasCancelled: // on purpose, of which whoever did it need not be told: it is no failure, and no success
		r.Reason = a.Error
		endRun(r, s, Cancelled, a.Ended)
		return nil
	case Stopped: // by a planned end, of which nobody need hear: it is made up for as soon as somebody can
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

// giveUp ends a run after a failure, of which n tells.
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

// endRun ends a run.
func endRun(r *Run, s *State, status Status, at time.Time) {
	r.Status, r.Ended, r.NextAt = status, at, time.Time{}
	s.Active, s.NextAt, s.Attempt = "", time.Time{}, 0
	s.LastRun, s.Last, s.Settled = r.ID, status, at
}

// backoffAfter is how long to wait after the nth attempt. The last of the list is for all that
// follow.
func backoffAfter(backoff []time.Duration, n int) time.Duration {
	if len(backoff) == 0 {
		return 0
	}
	return backoff[min(n, len(backoff))-1]
}

// staleAt is when a schedule is overdue: its first tick after the last success, or since it was
// seen, and the time it may take beyond that. Zero where it is not watched, or told already.
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

// StaleAt is when a schedule in this state is told to be overdue; zero: it is not watched, or was
// told.
func StaleAt(st State, s *Schedule) time.Time { return staleAt(&st, s.Next, s.Retry.StaleAfter) }
