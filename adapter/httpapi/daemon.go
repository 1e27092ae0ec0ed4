package httpapi

import (
	"context"
	"time"
)

// Daemon reports the state of the daemon.
type Daemon interface {
	Status(ctx context.Context) (DaemonStatus, error)
}

// A DaemonStatus is the state of a daemon, in the form of `serve status --json`.
type DaemonStatus struct {
	PID     int            `json:"pid" doc:"Its process id." example:"22188"`
	Version string         `json:"version" doc:"The version of Patchbay." example:"0.1.0"`
	Began   time.Time      `json:"began" doc:"When it started." example:"2026-11-16T06:00:19Z"`
	HTTP    string         `json:"http" doc:"Its HTTP address; empty for a daemon that a hook has started, which has only the socket." example:"http://127.0.0.1:8000"`
	Socket  string         `json:"socket" doc:"Its Unix socket." example:"/home/mira/.local/state/patchbay/patchbay.sock"`
	Hooks   bool           `json:"hooks" doc:"Whether a hook of another agent has started it. Such a daemon gives its place to others, and runs no agents." example:"false"`
	Model   string         `json:"model" doc:"PROVIDER:NAME." example:"anthropic:claude-sonnet-4-5"`
	Plugins DaemonPlugins  `json:"plugins" doc:"How many plugins it has."`
	Agents  DaemonAgents   `json:"agents" doc:"How many scheduled agents it has."`
	Next    *DaemonNextRun `json:"next_run" doc:"The next run of a schedule; null if there is none."`
	Log     string         `json:"log" doc:"Its log file; empty if it has none." example:"/home/mira/.local/state/patchbay/serve.log"`
}

// DaemonPlugins counts plugins.
type DaemonPlugins struct {
	Ready int `json:"ready" doc:"The number that work." example:"4"`
	All   int `json:"all" doc:"The number that were found." example:"5"`
}

// DaemonAgents counts agents.
type DaemonAgents struct {
	All     int `json:"all" doc:"The number that were found." example:"2"`
	Broken  int `json:"broken" doc:"The number with an error in the manifest." example:"0"`
	Running int `json:"running" doc:"The number of runs in progress." example:"1"`
}

// A DaemonNextRun is the next run of a schedule.
type DaemonNextRun struct {
	Agent    string    `json:"agent" doc:"The agent's name." example:"disk-report"`
	Schedule string    `json:"schedule" doc:"The schedule's id." example:"daily"`
	At       time.Time `json:"at" doc:"When it is due." example:"2026-11-17T06:00:00Z"`
}

func (a *api) addDaemon() {
	add(a, route{method: "GET", path: "/v1/daemon", id: "daemon", tag: "inspect", summary: "Show the daemon",
		doc: "Its process, its addresses, its plugins and agents, and the next run."},
		func(ctx context.Context, _ *struct{}) (*answer[DaemonStatus], error) {
			return answered(a.Daemon.Status(ctx))
		})
}
