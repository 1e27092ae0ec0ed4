package job

import (
	"time"
)

// A Status is how far a run has come.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Waiting   Status = "waiting" // for its next attempt
	Succeeded Status = "succeeded"
	GivenUp   Status = "given_up"  // every attempt failed
	Skipped   Status = "skipped"   // the run before it was not over
	Cancelled Status = "cancelled" // somebody ended it on purpose; it neither succeeded nor failed
)

// Over tells whether a run has ended.
func (s Status) Over() bool { return s != Running && s != Waiting }

// A Run is one run of an agent, with all its attempts.
type Run struct {
	ID        string    `json:"id"` // AGENT/SCHEDULE/TIME, which sorts
	Agent     string    `json:"agent"`
	Schedule  string    `json:"schedule"`
	Tick      time.Time `json:"tick"`   // when it was due
	Manual    bool      `json:"manual"` // a person asked for it
	Status    Status    `json:"status"`
	Attempts  []Attempt `json:"attempts"`
	Most      int       `json:"max_attempts"`
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended,omitzero"`
	NextAt    time.Time `json:"next_attempt,omitzero"` // of a run that waits
	Reason    string    `json:"reason,omitempty"`      // why it was skipped or cancelled, or given up before its last attempt
	Owner     string    `json:"owner"`                 // who runs it, or ran it last
	Recovered bool      `json:"recovered,omitempty"`   // it succeeded after a failure
	LogAfter  uint64    `json:"log_after,omitempty"`   // what it prints comes after this record of the outputs
}

// An Attempt is one try at a run.
type Attempt struct {
	Number   int       `json:"number"` // from 1
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"`
	Result   Result    `json:"result,omitempty"` // empty: under way
	ExitCode *int      `json:"exit_code"`        // null: the command did not run, or has not ended
	Error    string    `json:"error,omitempty"`
	Suggest  string    `json:"suggest,omitempty"` // what a person could do about it; shown, never executed
	Sinks    []string  `json:"sinks,omitempty"`   // what went wrong with the sinks of a run that succeeded

	SinkFixes []string `json:"sink_fixes,omitempty"` // what mends each of these; "" where that is not known
}

// A Result is what an attempt came to.
type Result string

// The results.
const (
	OK       Result = "ok"
	Failed   Result = "failed"
	TimedOut Result = "timed_out"
	Refused  Result = "refused" // by a preflight
	CutOff   Result = "cut_off" // together with the process that made it, which died
	Stopped  Result = "stopped" // by a planned end of the process that made it; it does not count as one of the attempts

	WasCancelled Result = "cancelled" // on purpose, with its run
)

// last is the attempt under way, or the last one there was.
func (r *Run) last() *Attempt {
	if len(r.Attempts) == 0 {
		return nil
	}
	return &r.Attempts[len(r.Attempts)-1]
}

// A State is what is known of a schedule from one run to the next.
type State struct {
	Agent    string    `json:"agent"`
	Schedule string    `json:"schedule"`
	Since    time.Time `json:"since"`                 // when it was first seen
	LastTick time.Time `json:"last_tick,omitzero"`    // the last one that was taken care of
	Ahead    time.Time `json:"ahead,omitzero"`        // ticks up to here may have run already, while the clock was ahead
	Active   string    `json:"active,omitempty"`      // the run that is not over
	NextAt   time.Time `json:"next_attempt,omitzero"` // of the active run, where it waits
	Attempt  int       `json:"attempt,omitempty"`     // of the active run, the last one begun
	LastRun  string    `json:"last_run,omitempty"`    // the last one that is over, and was not skipped
	Last     Status    `json:"last_status,omitempty"` // how it ended
	Success  time.Time `json:"last_success,omitzero"` //
	Failing  bool      `json:"failing,omitempty"`     // an attempt failed, and none has succeeded since
	Stale    bool      `json:"stale,omitempty"`       // told, and no success since
	Streak   int       `json:"streak,omitempty"`      // runs of the same result in a row: above zero successes, below zero failures
	Settled  time.Time `json:"last_settled,omitzero"` // when the last run ended
}
