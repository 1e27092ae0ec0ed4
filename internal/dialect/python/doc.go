// Package python runs plugins that are Python files with decorated functions:
// docs/protocols/python.md. All plugins of a host that have neither a sandbox nor limits share one
// interpreter, so that they share the state of a request. The interpreter runs the package in
// runner/, which is part of the binary. It gets the package on stdin; nothing is written to disk.
//
//	Find, At             python.go       the files in ~/.agent/plugins
//	Open                 python.go
//	  acquire            share.go        the interpreter, started by the first plugin that uses it
//	    connect          runner.go       process and handshake; after a crash, every plugin is loaded again
//	      start          interpreter.go
//	  open               plugin.go       loads the file; a LoadError has line and column
//	Hooks, Connect       plugin.go       six hooks at their own points, and at the points of connect.go
//	  refresh            refresh.go      loads the file again if it has changed
//	  params, reply      translate.go    event to params, answer to reply
//	  call               runner.go       one request, its error in the hub's words
//	Close                plugin.go       the last one ends the interpreter
//	Validate, Inspect    validate.go     runs code that is not a plugin yet, or only reads it, in an interpreter of its own
//	OpenInspector        inspector.go    an interpreter that reads one draft after the other
//	Save                 save.go         writes the file of a plugin
//
// The messages between host and runner are defined in messages.go. They are not part of the
// protocol: both ends are in this package.
//
// An interpreter is not a sandbox. Its plugins can reach each other, and if one changes the
// process, this affects all of them.
package python
