// Package kaged speaks the kaged plugin protocol: plugins that live as long as the host, described
// by a manifest.yaml, in JSON-RPC 2.0 over stdin and stdout. Several calls may be under way at
// once, and a plugin may speak unasked: it sends notifications, and asks the host for its storage.
//
// It has two halves. The manifest half (manifest*.go, knob*.go) reads and checks what a plugin
// declares; it starts nothing. The other half, below, finds plugins, runs them and translates.
//
// What it is not: it does not enforce capabilities other than those on storage (the sandbox does),
// and does not decide what a plugin's failure does to an event (the hub's table does).
//
//	Dialect.Find                  directories and manifests              find.go
//	Dialect.Open                  checks the configuration               kaged.go
//	  proc.Keep                   opened again whenever the process ends
//	    plugin.connect            start, initialize, initialized         link.go
//	  heart.beat                  health.check at intervals              health.go
//	plugin.Hooks | Connect        one hook.Hook per kaged hook           plugin.go
//	  wiring.ask                  event to params                        translate.go, connect.go
//	  plugin.call                 the one place that calls a process
//	    wire.Peer.Call
//	    dialect.CallFailure       what went wrong, in the hub's words
//	  wiring.read                 result to reply
//	plugin.CallTool               arguments checked, `_context` beside them    calls.go
//	plugin.CallMethod             declared methods only
//	plugin.Reconfigure            another process with another config, between two calls    renew.go, gate.go
//	plugin.Close                  shutdown, end of stdin, stop ladder
//
//	from the plugin:
//	  notifications.take          logged, passed on, the last ones kept  notifications.go
//	  storage.serve               kaged.storage.*, by capability         storage.go
package kaged
