// Package hookroad is the way of an event from another agent's hook to the daemon and back. An
// agent starts a program for each event and waits: so this package is small, and imports neither
// net/http nor the readers of the configuration (arch_test.go holds that).
//
//	Run                       one event: stdin to stdout and an exit code                       road.go
//	├─ codehook.Parse         which event, how long the agent waits, who has to be asked
//	├─ road.ask               until there is an answer, or time is up                           ask.go
//	│  ├─ exchange            one request over the daemon's socket                              wire.go
//	│  ├─ road.start          nobody answers: start a daemon, one at a time                     start.go
//	│  └─ road.inProcess      none can be had: `patchbay hook` itself has the plugins
//	└─ road.nobody            nobody could be asked: closed points are refused                  closed.go, log.go
//	Lines                     the same for OpenCode: one process, an event a line               lines.go
//
// The daemon's side of it is in package daemon, which writes the file of closed points and serves
// the route. What an event means is package codehook's affair. docs/hosts/daemon.md has the rules.
package hookroad
