// Package python runs plugins that are Python files with decorated functions:
// docs/protocols/python.md. All plugins of a host that have neither a sandbox nor limits share one
// interpreter, so that they share the state of a request. The interpreter runs the package in
// runner/, which is part of the binary. It gets the package on stdin; nothing is written to disk.
//
//	Find, At             python.go       the files in ~/.agent/plugins
//	Open                 python.go
//	  acquire            share.go        the one interpreter of this host, started by the first plugin
//	    connect          runner.go       process and handshake; after a crash, every plugin is loaded again
//	      start          interpreter.go
//	  open               plugin.go       the file loaded, or a LoadError with line and column
//	Hooks                translate.go    six hooks: event to params, answer to reply; connect.go at other points
//	  refresh            refresh.go      loads the file again if it has changed
//	  call               runner.go       one request, its error in the hub's words
//	Close                plugin.go       the last one ends the interpreter
//	Validate, Inspect    validate.go     code that is not a plugin yet, in an interpreter of its own: run, or only read
//	OpenInspector        inspector.go    an interpreter that reads one draft after the other
//	Save                 save.go         its file
//
// The messages between host and runner are defined in messages.go. They are not part of the
// protocol: both ends are in this package.
//
// An interpreter is not a sandbox. Its plugins can reach each other, and if one changes the
// process, this affects all of them.
package python
