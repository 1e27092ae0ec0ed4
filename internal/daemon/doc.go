// Package daemon contains the part that `patchbay chat`, `patchbay serve`, `patchbay mcp` and
// `patchbay job` share: the plugins, the engine with sessions, feature flags and traces, the model,
// the scheduled agents, and the agent that uses them. It also contains the server of
// `patchbay serve`. It does not know the terminal, and the routes of HTTP are in package httpapi.
//
// # Opening
//
// [Open] reads the configuration and returns a [Core]. [Core.Close] ends everything in reverse
// order.
//
//	Open                       core.go
//	├─ configure               finds the directories, reads config.toml and secrets.toml
//	├─ openModel               the flag, $PATCHBAY_MODEL or the configuration
//	├─ openEngine              sessions, feature flags and journal on one engine
//	├─ pluginhost.Open         starts the plugins
//	├─ newProjects             sets of plugins for other projects        projects.go
//	└─ openJobs                reads the manifests of agents             jobs.go
//
// # One message
//
// [Core.Turn] runs the agent with one message of a user.
//
//	Core.Turn                  turn.go
//	├─ running.begin           registers the turn, so that it can be interrupted
//	├─ sessionstore.Store.Begin  takes the lease: a session has one turn at a time
//	├─ projects.in             the plugins of the session's project      projects.go
//	├─ refreshSources          searches for Python plugins again
//	├─ chat.Agent.Run          plugins, model, tools
//	│  └─ Core.observer        journal, metrics, export and the caller   record.go
//	└─ sessionstore.Turn.End   stores the end, gives the lease back
//
// # Serving
//
// [Core.Serve] listens until its context ends. Each group of routes in package httpapi is an
// interface, and a small type here implements it, such as sessions or turns.
//
//	Core.Serve                 serve.go
//	├─ listenTCP, newBounded   the TCP address, with a limit of connections   listen.go
//	├─ claim                   the socket: one daemon at a time               claim.go
//	├─ backend                 the implementations of the routes              backend.go
//	├─ Jobs.Schedule           runs agents when they are due                  jobs.go
//	├─ keepClosed              the file that hooks read if no daemon answers  closed.go
//	├─ pluginEvents.watch      states of plugins, for the journal             pluginevents.go
//	└─ endServing              waits for turns, interrupts them, ends the server
//
// [Core.ServeHooks] is the smaller server that a hook of another agent starts: without TCP, turns
// and jobs. It ends when no call comes, or when another daemon takes the socket.
//
//	Core.ServeHooks            hooks_serve.go
//	└─ Core.AnswerHook         one event of another agent                     hooks.go
//
// # Reading without a daemon
//
// [OpenRecords] opens only sessions and journal, for commands that show them (traces.go). [Status],
// [Reload] and [ReloadPlugin] ask the daemon that runs on the same directories, over its socket
// (status.go, client.go).
package daemon
