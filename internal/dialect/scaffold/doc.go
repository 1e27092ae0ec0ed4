// Package scaffold speaks the scaffold protocol: docs/protocols/scaffold.md. Plugins run as long as
// the host and speak newline-delimited JSON-RPC 2.0 on stdin and stdout. Each plugin process has
// one request under way at a time.
//
//	Find                 scaffold.go   executables in the plugins folder; the host opens at most 16
//	Open                 scaffold.go
//	  connect            session.go    starts the process, makes the handshake; again after a crash
//	    parseManifest    manifest.go   what the plugin declares
//	Hooks                plugin.go     six hooks
//	  params, reply      translate.go  event to params, result to reply
//	  ask                plugin.go     one request; its error as a hook.Error
//	CallTool             plugin.go
//	Close                session.go    sends shutdown, then stops the process
//
// dialect.Failures decides what a plugin's failure does to an event. The names and limits of the
// protocol are in protocol.go.
package scaffold
