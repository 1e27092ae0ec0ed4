package httpapi

import "time"

// The types below are for the OpenAPI document alone, as those of shapes.go are.

type jobInfo struct {
	_           struct{}    `additionalProperties:"true"`
	Agent       string      `json:"agent" doc:"The agent's name; of a broken manifest its directory." example:"disk-report"`
	Schedule    string      `json:"schedule" doc:"The schedule's id; empty for a broken manifest." example:"daily"`
	Description string      `json:"description" doc:"What the agent says of itself." example:"how full the disks are"`
	Path        string      `json:"path" doc:"Its manifest." example:"/home/mira/.config/patchbay/agents/disk-report/agent.toml"`
	NextRun     *time.Time  `json:"next_run" doc:"When it is due; null where it does not run by itself." example:"2026-11-17T06:00:00Z"`
	NextRuns    []time.Time `json:"next_runs" doc:"When it is due within the next 24 hours, up to 20 times." example:"[\"2026-11-17T06:00:00Z\"]"`
	NextAttempt *time.Time  `json:"next_attempt" doc:"Of a run that waits for its next attempt; null where none does." example:"2026-11-16T06:05:00Z"`
	Running     string      `json:"running" doc:"The run that is not over; empty where there is none." example:"disk-report/daily/20261116T060000.000Z"`
	LastRun     *jobRun     `json:"last_run" doc:"The last run; null where there was none, or it is too old to be kept."`
	LastSuccess *time.Time  `json:"last_success" doc:"When it last succeeded; null where it never did." example:"2026-11-15T06:00:12Z"`
	Streak      int         `json:"streak" doc:"Above zero: successes in a row; below: failures." example:"3"`
	Stale       bool        `json:"stale" doc:"Whether its last success is longer ago than its manifest allows." example:"false"`
	Error       string      `json:"error,omitempty" doc:"Why it cannot run." example:"agent.name: is required"`
}

type jobRun struct {
	_           struct{}   `additionalProperties:"true"`
	ID          string     `json:"id" doc:"AGENT/SCHEDULE/TIME." example:"disk-report/daily/20261116T060000.000Z"`
	Agent       string     `json:"agent" doc:"The agent's name." example:"disk-report"`
	Schedule    string     `json:"schedule" doc:"The schedule's id." example:"daily"`
	Tick        time.Time  `json:"tick" doc:"When it was due." example:"2026-11-16T06:00:00Z"`
	Manual      bool       `json:"manual" doc:"A person asked for it." example:"false"`
	Status      string     `json:"status" enum:"running,waiting,succeeded,given_up,skipped,cancelled" doc:"How it stands." example:"succeeded"`
	Attempts    []attempt  `json:"attempts" doc:"The first one first."`
	MaxAttempts int        `json:"max_attempts" doc:"So many are made at most." example:"3"`
	Began       time.Time  `json:"began" doc:"When it began." example:"2026-11-16T06:00:00.1Z"`
	Ended       *time.Time `json:"ended,omitempty" doc:"When it ended; absent while it has not." example:"2026-11-16T06:00:12Z"`
	NextAttempt *time.Time `json:"next_attempt,omitempty" doc:"Of a run that waits." example:"2026-11-16T06:05:00Z"`
	Reason      string     `json:"reason,omitempty" doc:"Why it was skipped or cancelled, or given up before its last attempt." example:"the previous run is still in progress"`
	Owner       string     `json:"owner" doc:"Who runs it, or ran it last." example:"process 22188 on desk"`
	Recovered   bool       `json:"recovered,omitempty" doc:"It succeeded after a failure." example:"true"`
}

type attempt struct {
	_        struct{}   `additionalProperties:"true"`
	Number   int        `json:"number" doc:"From 1." example:"1"`
	Began    time.Time  `json:"began" doc:"When it began." example:"2026-11-16T06:00:00.1Z"`
	Ended    *time.Time `json:"ended,omitempty" doc:"When it ended; absent while it has not." example:"2026-11-16T06:00:12Z"`
	Result   string     `json:"result,omitempty" enum:"ok,failed,timed_out,refused,cut_off,stopped,cancelled" doc:"What it came to; absent while it is under way." example:"ok"`
	ExitCode *int       `json:"exit_code" doc:"Of the command; null where it did not run, or has not ended." example:"0"`
	Error    string     `json:"error,omitempty" doc:"How it failed." example:"exit code 1"`
	Suggest  string     `json:"suggest,omitempty" doc:"What a person could do about it; never to be executed." example:"free some room"`
	Sinks    []string   `json:"sinks,omitempty" doc:"What went wrong with the sinks of a run that succeeded." example:"[\"mail: connection refused\"]"`
}

type outputLine struct {
	Attempt int       `json:"attempt" doc:"Of which attempt it is." example:"1"`
	Time    time.Time `json:"time" doc:"When it was printed." example:"2026-11-16T06:00:01Z"`
	Stream  string    `json:"stream" enum:"stdout,stderr,note" doc:"Notes are Patchbay's own." example:"stdout"`
	Text    string    `json:"text" doc:"The line." example:"/ is 71% full"`
}

type runPage struct {
	Runs []jobRun `json:"runs" doc:"Those that are not over, then the last to end first."`
	Next string   `json:"next,omitempty" doc:"What to send as after for the next page. It is absent where there is none." example:"cnVuczoxIDU"`
}

type health struct {
	_             struct{}        `additionalProperties:"true"`
	Status        string          `json:"status" enum:"ok,degraded" doc:"Whether the daemon is well." example:"ok"`
	Version       string          `json:"version" doc:"Of Patchbay." example:"0.1.0"`
	Hooks         bool            `json:"hooks,omitempty" doc:"A hook of another agent has started it." example:"false"`
	UptimeSeconds int64           `json:"uptime_seconds" doc:"How long it has been running." example:"11520"`
	Model         string          `json:"model" doc:"PROVIDER:NAME." example:"anthropic:claude-sonnet-4-5"`
	Offline       bool            `json:"offline" doc:"The model asks nobody." example:"false"`
	Plugins       map[string]int  `json:"plugins" doc:"How many, by state." example:"{\"ready\":4,\"disabled\":1}"`
	Engine        engineHealth    `json:"engine" doc:"Where everything is kept."`
	EventsDropped uint64          `json:"events_dropped" doc:"Events that could not be kept." example:"0"`
	Telemetry     *telemetryCount `json:"telemetry,omitempty" doc:"Absent where no spans are exported."`
	Reload        *reloadFailure  `json:"reload,omitempty" doc:"Why everything was not read again; absent where it was."`
}

type engineHealth struct {
	_         struct{}       `additionalProperties:"true"`
	Mode      string         `json:"mode" enum:"owner,guest,external" doc:"owner: the store runs in this process; guest: in another one of this machine; external: a server or a cluster elsewhere." example:"owner"`
	Connected bool           `json:"connected" doc:"Whether it answers." example:"true"`
	Error     string         `json:"error,omitempty" doc:"Why it is not connected, or its health cannot be told." example:"connection refused"`
	Disk      string         `json:"disk,omitempty" doc:"Why nothing can be written." example:"no space left on device"`
	Damage    []engineDamage `json:"damage,omitempty" doc:"What was found damaged, and nobody has acknowledged."`
}

type engineDamage struct {
	Time   time.Time `json:"time" doc:"When it was found." example:"2026-11-16T06:00:19Z"`
	Blocks int       `json:"blocks" doc:"How many blocks." example:"1"`
	Whole  int       `json:"whole" doc:"Messages in them that are recovered." example:"120"`
	Lost   int       `json:"lost" doc:"Messages that are not." example:"2"`
	Kept   string    `json:"kept" doc:"Where the blocks are as they were found." example:"/home/mira/.local/share/patchbay/engine/damaged/1"`
	Fix    string    `json:"fix" doc:"How to fix it." example:"stop the daemon, then run patchbay engine repair"`
}

type telemetryCount struct {
	Sent    uint64 `json:"sent" doc:"Spans that the collector took." example:"1024"`
	Dropped uint64 `json:"dropped" doc:"Spans that were lost." example:"0"`
	Error   string `json:"error,omitempty" doc:"Of the last batch that was not taken." example:"connection refused"`
}

type reloadFailure struct {
	Time  time.Time `json:"time" doc:"When it was tried." example:"2026-11-16T06:00:19Z"`
	Error string    `json:"error" doc:"What was wrong." example:"config.toml:3:1: unknown key modle"`
}
