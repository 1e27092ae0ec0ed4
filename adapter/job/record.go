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
	ID        string    `json:"id" doc:"AGENT/SCHEDULE/TIME; sorted as text, the runs of a schedule are in order." example:"disk-report/daily/20261116T060000.000Z"`
	Agent     string    `json:"agent" doc:"The agent's name." example:"disk-report"`
	Schedule  string    `json:"schedule" doc:"The schedule's id." example:"daily"`
	Tick      time.Time `json:"tick" doc:"When it was due." example:"2026-11-16T06:00:00Z"`
	Manual    bool      `json:"manual" doc:"A person started it." example:"false"`
	Status    Status    `json:"status" enum:"running,waiting,succeeded,given_up,skipped,cancelled" doc:"The state of the run." example:"succeeded"`
	Attempts  []Attempt `json:"attempts" nullable:"true" doc:"In order."`
	Most      int       `json:"max_attempts" doc:"The largest number of attempts." example:"3"`
	Began     time.Time `json:"began" doc:"When it began." example:"2026-11-16T06:00:00.1Z"`
	Ended     time.Time `json:"ended,omitzero" doc:"When it ended; absent until then." example:"2026-11-16T06:00:12Z"`
	NextAt    time.Time `json:"next_attempt,omitzero" doc:"When a waiting run makes its next attempt." example:"2026-11-16T06:05:00Z"`
	Reason    string    `json:"reason,omitempty" doc:"Why it was skipped or cancelled, or given up before its last attempt." example:"the previous run is still in progress"`
	Owner     string    `json:"owner" doc:"The process that runs it, or ran it last." example:"process 22188 on desk"`
	Recovered bool      `json:"recovered,omitempty" doc:"It succeeded after a failure." example:"true"`
	LogAfter  uint64    `json:"log_after,omitempty" doc:"The number of the stored record after which its output begins; only Patchbay uses it." example:"1024"`
}

// An Attempt is one attempt of a run.
type Attempt struct {
	Number   int       `json:"number" doc:"From 1." example:"1"`
	Began    time.Time `json:"began" doc:"When it began." example:"2026-11-16T06:00:00.1Z"`
	Ended    time.Time `json:"ended,omitzero" doc:"When it ended; absent until then." example:"2026-11-16T06:00:12Z"`
	Result   Result    `json:"result,omitempty" enum:"ok,failed,timed_out,refused,cut_off,stopped,cancelled" doc:"The result; absent until the attempt ends." example:"ok"`
	ExitCode *int      `json:"exit_code" doc:"The exit code of the command; null if it did not run, has not ended, or was interrupted." example:"0"`
	Error    string    `json:"error,omitempty" doc:"How it failed." example:"exit code 1"`
	Suggest  string    `json:"suggest,omitempty" doc:"A suggestion for a person; never execute it." example:"free some room"`
	Sinks    []string  `json:"sinks,omitempty" doc:"Errors of the sinks of a run that succeeded." example:"[\"mail: connection refused\"]"`

	SinkFixes []string `json:"sink_fixes,omitempty" doc:"One for each of the errors in sinks: how to fix it; empty if that is not known. Absent in runs that an earlier version stored." example:"[\"start the mail server\"]"`
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
}
