// Package kaged speaks the kaged protocol: docs/protocols/kaged.md. A plugin runs as long as the
// host, is described by a manifest.yaml, and speaks JSON-RPC 2.0 on stdin and stdout. Several calls
// may be under way at once. A plugin may also send notifications, and requests for its storage.
//
// The package has two halves. The manifest half (manifest*.go, knob*.go) reads and checks what a
// plugin declares; it starts nothing. The other half, below, finds plugins, runs them and
// translates.
//
// The package enforces only the capabilities on storage; the sandbox enforces the others.
// dialect.Failures decides what a plugin's failure does to an event.
//
//	Dialect.Find                  directories and manifests              find.go
//	Dialect.Open                  checks the configuration               kaged.go
//	  proc.Keep                   starts the process again whenever it exits
//	    plugin.connect            start, initialize, initialized         link.go
//	  heart.beat                  health.check at intervals              health.go
//	plugin.Hooks | Connect        one hook.Hook per kaged hook           plugin.go
//	  translation.ask             event to params                        translate.go, connect.go
//	  plugin.call                 the one place that calls a process     link.go
//	    wire.Peer.Call
//	    dialect.CallFailure       the error, as a hook.Error
//	  translation.read            result to reply
//	plugin.CallTool               arguments checked, `_context` added    calls.go
//	plugin.CallMethod             declared methods only                  calls.go
//	plugin.Reconfigure            replaces the process between two calls renew.go, gate.go
//	plugin.Close                  shutdown, end of stdin, signals        plugin.go
//
//	from the plugin:
//	  notifications.take          logs, passes on, stores the last ones  notifications.go
//	  storage.serve               kaged.storage.*, by capability         storage.go
package kaged
