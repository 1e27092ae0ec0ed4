package httpapi

import "time"

// The types below are only for the OpenAPI document, like those of shapes.go.

type jobInfo struct {
	_           struct{}    `additionalProperties:"true"`
	Agent       string      `json:"agent" doc:"The agent's name; for a broken manifest, its directory." example:"disk-report"`
	Schedule    string      `json:"schedule" doc:"The schedule's id; empty for a broken manifest." example:"daily"`
	Description string      `json:"description" doc:"The agent's description." example:"how full the disks are"`
	Path        string      `json:"path" doc:"Its manifest." example:"/home/mira/.config/patchbay/agents/disk-report/agent.toml"`
	NextRun     *time.Time  `json:"next_run" doc:"When it is due; null if it has no schedule." example:"2026-11-17T06:00:00Z"`
	NextRuns    []time.Time `json:"next_runs" doc:"The times at which it is due within the next 24 hours, at most 20." example:"[\"2026-11-17T06:00:00Z\"]"`
	NextAttempt *time.Time  `json:"next_attempt" doc:"The next attempt of a run that waits; null if no run waits." example:"2026-11-16T06:05:00Z"`
	Running     string      `json:"running" doc:"The run in progress; empty if there is none." example:"disk-report/daily/20261116T060000.000Z"`
	LastRun     *jobRun     `json:"last_run" doc:"The last run; null if there was none, or if it is too old to be stored."`
	LastSuccess *time.Time  `json:"last_success" doc:"When it last succeeded; null if it never did." example:"2026-11-15T06:00:12Z"`
	Streak      int         `json:"streak" doc:"Runs in a row with the same result: above zero successes, below zero failures." example:"3"`
	Stale       bool        `json:"stale" doc:"Whether its last success is longer ago than its manifest allows." example:"false"`
	Error       string      `json:"error,omitempty" doc:"Why it cannot run." example:"agent.name: is required"`
}

type jobRun struct {
	_           struct{}   `additionalProperties:"true"`
	ID          string     `json:"id" doc:"AGENT/SCHEDULE/TIME." example:"disk-report/daily/20261116T060000.000Z"`
	Agent       string     `json:"agent" doc:"The agent's name." example:"disk-report"`
	Schedule    string     `json:"schedule" doc:"The schedule's id." example:"daily"`
	Tick        time.Time  `json:"tick" doc:"When it was due." example:"2026-11-16T06:00:00Z"`
	Manual      bool       `json:"manual" doc:"A person started it." example:"false"`
	Status      string     `json:"status" enum:"running,waiting,succeeded,given_up,skipped,cancelled" doc:"The state of the run." example:"succeeded"`
	Attempts    []attempt  `json:"attempts" doc:"In order."`
	MaxAttempts int        `json:"max_attempts" doc:"The largest number of attempts." example:"3"`
	Began       time.Time  `json:"began" doc:"When it began." example:"2026-11-16T06:00:00.1Z"`
	Ended       *time.Time `json:"ended,omitempty" doc:"When it ended; absent until then." example:"2026-11-16T06:00:12Z"`
	NextAttempt *time.Time `json:"next_attempt,omitempty" doc:"When a waiting run makes its next attempt." example:"2026-11-16T06:05:00Z"`
	Reason      string     `json:"reason,omitempty" doc:"Why it was skipped or cancelled, or given up before its last attempt." example:"the previous run is still in progress"`
	Owner       string     `json:"owner" doc:"The process that runs it, or ran it last." example:"process 22188 on desk"`
	Recovered   bool       `json:"recovered,omitempty" doc:"It succeeded after a failure." example:"true"`
}

type attempt struct {
	_        struct{}   `additionalProperties:"true"`
	Number   int        `json:"number" doc:"From 1." example:"1"`
	Began    time.Time  `json:"began" doc:"When it began." example:"2026-11-16T06:00:00.1Z"`
	Ended    *time.Time `json:"ended,omitempty" doc:"When it ended; absent until then." example:"2026-11-16T06:00:12Z"`
	Result   string     `json:"result,omitempty" enum:"ok,failed,timed_out,refused,cut_off,stopped,cancelled" doc:"The result; absent until the attempt ends." example:"ok"`
	ExitCode *int       `json:"exit_code" doc:"The exit code of the command; null if it did not run, or has not ended." example:"0"`
	Error    string     `json:"error,omitempty" doc:"How it failed." example:"exit code 1"`
	Suggest  string     `json:"suggest,omitempty" doc:"A suggestion for a person; never execute it." example:"free some room"`
	Sinks    []string   `json:"sinks,omitempty" doc:"Errors of the sinks of a run that succeeded." example:"[\"mail: connection refused\"]"`
}

type outputLine struct {
	Attempt int       `json:"attempt" doc:"The attempt that printed it." example:"1"`
	Time    time.Time `json:"time" doc:"When it was printed." example:"2026-11-16T06:00:01Z"`
	Stream  string    `json:"stream" enum:"stdout,stderr,note" doc:"note is a remark of Patchbay." example:"stdout"`
	Text    string    `json:"text" doc:"The line." example:"/ is 71% full"`
}

type runPage struct {
	Runs []jobRun `json:"runs" doc:"First those in progress, then the others, beginning with the one that ended last."`
	Next string   `json:"next,omitempty" doc:"The value of after for the next page; absent if there is none." example:"cnVuczoxIDU"`
}

type health struct {
	_             struct{}        `additionalProperties:"true"`
	Status        string          `json:"status" enum:"ok,degraded" doc:"Whether the daemon is healthy." example:"ok"`
	Version       string          `json:"version" doc:"The version of Patchbay." example:"0.1.0"`
	Hooks         bool            `json:"hooks,omitempty" doc:"A hook of another agent has started it." example:"false"`
	UptimeSeconds int64           `json:"uptime_seconds" doc:"How long it has been running." example:"11520"`
	Model         string          `json:"model" doc:"PROVIDER:NAME." example:"anthropic:claude-sonnet-4-5"`
	Offline       bool            `json:"offline" doc:"The built-in offline model is used." example:"false"`
	Plugins       map[string]int  `json:"plugins" doc:"The number of plugins by state." example:"{\"ready\":4,\"disabled\":1}"`
	Engine        engineHealth    `json:"engine" doc:"The store of sessions, traces and runs."`
	EventsDropped uint64          `json:"events_dropped" doc:"Events that could not be stored." example:"0"`
	Telemetry     *telemetryCount `json:"telemetry,omitempty" doc:"Absent if no spans are exported."`
	Reload        *reloadFailure  `json:"reload,omitempty" doc:"Why the last reload failed; absent if it did not fail."`
}

type engineHealth struct {
	_         struct{}       `additionalProperties:"true"`
	Mode      string         `json:"mode" enum:"owner,guest,external" doc:"owner: the store runs in this process; guest: in another one of this machine; external: a server or a cluster elsewhere." example:"owner"`
	Connected bool           `json:"connected" doc:"Whether it answers." example:"true"`
	Error     string         `json:"error,omitempty" doc:"Why it is not connected, or why its health is unknown." example:"connection refused"`
	Disk      string         `json:"disk,omitempty" doc:"Why nothing can be written." example:"no space left on device"`
	Damage    []engineDamage `json:"damage,omitempty" doc:"Damage that patchbay engine repair has not handled yet."`
}

type engineDamage struct {
	Time   time.Time `json:"time" doc:"When it was found." example:"2026-11-16T06:00:19Z"`
	Blocks int       `json:"blocks" doc:"How many blocks." example:"1"`
	Whole  int       `json:"whole" doc:"Messages in them that are recovered." example:"120"`
	Lost   int       `json:"lost" doc:"Messages that are lost." example:"2"`
	Kept   string    `json:"kept" doc:"The directory with copies of the damaged blocks." example:"/home/mira/.local/share/patchbay/engine/damaged/1"`
	Fix    string    `json:"fix" doc:"How to fix it." example:"stop the daemon, then run patchbay engine repair"`
}

type telemetryCount struct {
	Sent    uint64 `json:"sent" doc:"Spans that the collector accepted." example:"1024"`
	Dropped uint64 `json:"dropped" doc:"Spans that were lost." example:"0"`
	Error   string `json:"error,omitempty" doc:"The error of the last batch that was not accepted." example:"connection refused"`
}

type reloadFailure struct {
	Time  time.Time `json:"time" doc:"When it was tried." example:"2026-11-16T06:00:19Z"`
	Error string    `json:"error" doc:"What was wrong." example:"config.toml:3:1: unknown key modle"`
}
