package job

import (
	"time"
)

// A Status says how far a run has come.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Waiting   Status = "waiting" // for its next attempt
	Succeeded Status = "succeeded"
	GivenUp   Status = "given_up"  // every attempt failed
	Skipped   Status = "skipped"   // the run before it was not over
	Cancelled Status = "cancelled" // on request; the run neither succeeded nor failed
)

// Over reports whether a run has ended.
func (s Status) Over() bool { return s != Running && s != Waiting }

// A Run is one run of an agent, with all its attempts.
type Run struct {
	ID        string    `json:"id"` // AGENT/SCHEDULE/TIME; sorted as text, the runs of a schedule are in order
	Agent     string    `json:"agent"`
	Schedule  string    `json:"schedule"`
	Tick      time.Time `json:"tick"`   // when it was due
	Manual    bool      `json:"manual"` // a person started it
	Status    Status    `json:"status"`
	Attempts  []Attempt `json:"attempts"`
	Most      int       `json:"max_attempts"`
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended,omitzero"`
	NextAt    time.Time `json:"next_attempt,omitzero"` // set while the run waits
	Reason    string    `json:"reason,omitempty"`      // why the run was skipped or cancelled, or given up before its last attempt
	Owner     string    `json:"owner"`                 // the process that makes the run, or made its last attempt
	Recovered bool      `json:"recovered,omitempty"`   // the run succeeded after a failure
	LogAfter  uint64    `json:"log_after,omitempty"`   // its output comes after this record of the output stream
}

// An Attempt is one attempt of a run.
type Attempt struct {
	Number   int       `json:"number"` // from 1
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"`
	Result   Result    `json:"result,omitempty"` // empty: under way
	ExitCode *int      `json:"exit_code"`        // null: the program did not run, has not ended, or was interrupted
	Error    string    `json:"error,omitempty"`
	Suggest  string    `json:"suggest,omitempty"` // what a person could do about the error; shown, never executed
	Sinks    []string  `json:"sinks,omitempty"`   // the errors of the sinks, if the program succeeded

	SinkFixes []string `json:"sink_fixes,omitempty"` // the fix for each error in Sinks; "": not known
}

// A Result says how an attempt ended.
type Result string

// The results.
const (
	OK       Result = "ok"
	Failed   Result = "failed"
	TimedOut Result = "timed_out"
	Refused  Result = "refused" // by a preflight
	CutOff   Result = "cut_off" // because the process that made the attempt died
	Stopped  Result = "stopped" // because the process that made the attempt was told to end; the attempt does not count towards the maximum

	WasCancelled Result = "cancelled" // the run was cancelled
)

// last returns the current attempt, or the last one of a run that is over; nil if there is none.
func (r *Run) last() *Attempt {
	if len(r.Attempts) == 0 {
		return nil
	}
	return &r.Attempts[len(r.Attempts)-1]
}

// A State is what the store keeps about a schedule between runs.
type State struct {
	Agent    string    `json:"agent"`
	Schedule string    `json:"schedule"`
	Since    time.Time `json:"since"`                 // when the schedule was first seen
	LastTick time.Time `json:"last_tick,omitzero"`    // the last tick that was run or skipped
	Ahead    time.Time `json:"ahead,omitzero"`        // ticks up to this time may have run already, while the clock was ahead
	Active   string    `json:"active,omitempty"`      // the id of the run that is not over
	NextAt   time.Time `json:"next_attempt,omitzero"` // of the active run, if it waits
	Attempt  int       `json:"attempt,omitempty"`     // the number of the active run's last attempt
	LastRun  string    `json:"last_run,omitempty"`    // the id of the last run that is over and was not skipped
	Last     Status    `json:"last_status,omitempty"` // how LastRun ended
	Success  time.Time `json:"last_success,omitzero"` // when a run last succeeded
	Failing  bool      `json:"failing,omitempty"`     // an attempt has failed, and none has succeeded since
	Stale    bool      `json:"stale,omitempty"`       // stale was reported, and no run has succeeded since
	Streak   int       `json:"streak,omitempty"`      // runs with the same result in a row: above zero successes, below zero failures
	Settled  time.Time `json:"last_settled,omitzero"` // when LastRun ended
}
