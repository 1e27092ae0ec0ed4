// Package daemon keeps what `patchbay chat` and `patchbay serve` have in common alive: a host with
// its plugins, the engine with sessions, flags and traces in it, a model, and the agent that brings
// them together. It does not know the terminal, and of HTTP only what the routes ask of it.
//
//	Open                   configuration, engine, plugins, model          core.go
//	Core.Turn              one message of the user's                      turn.go
//	├─ session.Begin       the lease: one turn of a session at a time
//	├─ chat.Agent.Run      plugins, model, tools
//	├─ Core.record         what happened, into the journal                record.go
//	└─ sessionstore.Turn.End
//	Serve                  listeners, routes, and how they end            serve.go
//	├─ bounded, peers      who may connect, and how many                  listen.go
//	├─ backend             the core as the routes see it                  backend.go
//	└─ counts              what Prometheus reads                          metrics.go
package daemon
