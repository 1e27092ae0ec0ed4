package httpapi

import (
	"context"
	"time"
)

// Daemon says which daemon this is.
type Daemon interface {
	Status(ctx context.Context) (DaemonStatus, error)
}

// A DaemonStatus is a daemon at a glance, as `serve status --json` prints it.
type DaemonStatus struct {
	PID     int            `json:"pid" doc:"Its process."`
	Version string         `json:"version" doc:"Of Patchbay."`
	Began   time.Time      `json:"began" doc:"When it started."`
	HTTP    string         `json:"http" doc:"Where it answers HTTP; empty for a daemon that a hook has started, which has the socket alone."`
	Socket  string         `json:"socket" doc:"Its Unix socket."`
	Hooks   bool           `json:"hooks" doc:"Whether a hook of another agent has started it. It makes room for others, and runs no agents."`
	Model   string         `json:"model" doc:"PROVIDER:NAME."`
	Plugins DaemonPlugins  `json:"plugins" doc:"How many plugins it has."`
	Agents  DaemonAgents   `json:"agents" doc:"How many scheduled agents it has."`
	Next    *DaemonNextRun `json:"next_run" doc:"The next run of a schedule; null where there is none."`
	Log     string         `json:"log" doc:"The file that its log is kept in; empty where it keeps none."`
}

// DaemonPlugins counts plugins.
type DaemonPlugins struct {
	Ready int `json:"ready" doc:"Those that work."`
	All   int `json:"all" doc:"Those that were found."`
}

// DaemonAgents counts agents.
type DaemonAgents struct {
	All     int `json:"all" doc:"Those that were found."`
	Broken  int `json:"broken" doc:"Those whose manifest is at fault."`
	Running int `json:"running" doc:"Runs under way."`
}

// A DaemonNextRun is the next run of a schedule.
type DaemonNextRun struct {
	Agent    string    `json:"agent" doc:"The agent's name."`
	Schedule string    `json:"schedule" doc:"The schedule's id."`
	At       time.Time `json:"at" doc:"When it is due."`
}

func (a *api) addDaemon() {
	add(a, route{method: "GET", path: "/v1/daemon", id: "daemon", tag: "inspect", summary: "Tell which daemon this is",
		doc: "Its process, where it answers, what it has, and what it runs next."},
		func(ctx context.Context, _ *struct{}) (*answer[DaemonStatus], error) {
			return answered(a.Daemon.Status(ctx))
		})
}
