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
	PID     int            `json:"pid" doc:"Its process id."`
	Version string         `json:"version" doc:"The version of Patchbay."`
	Began   time.Time      `json:"began" doc:"When it started."`
	HTTP    string         `json:"http" doc:"Its HTTP address; empty for a daemon that a hook has started, which has only the socket."`
	Socket  string         `json:"socket" doc:"Its Unix socket."`
	Hooks   bool           `json:"hooks" doc:"Whether a hook of another agent has started it. Such a daemon gives its place to others, and runs no agents."`
	Model   string         `json:"model" doc:"PROVIDER:NAME."`
	Plugins DaemonPlugins  `json:"plugins" doc:"How many plugins it has."`
	Agents  DaemonAgents   `json:"agents" doc:"How many scheduled agents it has."`
	Next    *DaemonNextRun `json:"next_run" doc:"The next run of a schedule; null if there is none."`
	Log     string         `json:"log" doc:"Its log file; empty if it has none."`
}

// DaemonPlugins counts plugins.
type DaemonPlugins struct {
	Ready int `json:"ready" doc:"The number that work."`
	All   int `json:"all" doc:"The number that were found."`
}

// DaemonAgents counts agents.
type DaemonAgents struct {
	All     int `json:"all" doc:"The number that were found."`
	Broken  int `json:"broken" doc:"The number with an error in the manifest."`
	Running int `json:"running" doc:"The number of runs in progress."`
}

// A DaemonNextRun is the next run of a schedule.
type DaemonNextRun struct {
	Agent    string    `json:"agent" doc:"The agent's name."`
	Schedule string    `json:"schedule" doc:"The schedule's id."`
	At       time.Time `json:"at" doc:"When it is due."`
}

func (a *api) addDaemon() {
	add(a, route{method: "GET", path: "/v1/daemon", id: "daemon", tag: "inspect", summary: "Show the daemon",
		doc: "Its process, its addresses, its plugins and agents, and the next run."},
		func(ctx context.Context, _ *struct{}) (*answer[DaemonStatus], error) {
			return answered(a.Daemon.Status(ctx))
		})
}
