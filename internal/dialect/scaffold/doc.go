// Package scaffold speaks the scaffold protocol (seed 003): long-lived plugins, newline-delimited
// JSON-RPC 2.0 on stdin and stdout, one request in flight for each plugin process.
//
//	Find                 scaffold.go   executables in the plugins folder; the host opens 16 at most
//	Open                 scaffold.go
//	  connect            session.go    process, wire, handshake; again after a crash
//	    parseManifest    manifest.go   what the plugin says of itself
//	Hooks                translate.go  six hooks: event to params, result to reply
//	  ask                plugin.go     one request, its error in the hub's words
//	CallTool             plugin.go
//	Close                session.go    shutdown request, then the stop ladder
//
// The protocol's own words stay in wire.go.
package scaffold
