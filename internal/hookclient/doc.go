// Package hookclient brings an event from another agent's hook to the daemon, and the answer back.
// An agent starts a program for each event and waits for it. So this package is small, and imports
// neither net/http nor the packages that read the configuration (arch_test.go checks that).
//
//	Run                       answers one event, from stdin to stdout and an exit code         client.go
//	├─ codehook.Parse         which event it is, and how long the agent waits
//	├─ client.ask             tries until there is an answer, or time is up                    ask.go
//	│  ├─ exchange            sends one request over the daemon's socket                       wire.go
//	│  ├─ client.startDaemon  if no daemon answers: starts one                                 start.go
//	│  └─ client.inProcess    if none can be started: `patchbay hook` opens the plugins itself
//	└─ client.unanswered      without an answer: refuses events at closed points               closed.go, log.go
//	Lines                     does the same for OpenCode: one process, an event a line         lines.go
//
// The daemon's side is in package daemon, which serves the route and writes the file of closed
// points. Package codehook knows what an event means. The rules are in docs/hosts/daemon.md.
package hookclient
