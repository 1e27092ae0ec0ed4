// Package python runs plugins that are Python files with decorated functions (seed 004). All
// plugins of a host share one interpreter, so that they share the state of a request; the
// interpreter runs the package in runner/, which is part of the binary and is handed over on stdin,
// never written to disk.
//
//	Find, At             python.go       the files in ~/.agent/plugins
//	Open                 python.go
//	  acquire            share.go        the one interpreter of this host, started by the first plugin
//	    connect          runner.go       process and handshake, and every plugin loaded again after a crash
//	      start          interpreter.go
//	  open               plugin.go       the file loaded, or a LoadError with line and column
//	Hooks                translate.go    six hooks: event to params, answer to reply; connect.go at other points
//	  refresh            refresh.go      the file loaded again where it has changed
//	  call               runner.go       one request, its error in the hub's words
//	Close                plugin.go       the last one ends the interpreter
//	Validate, Inspect    validate.go     code that is not a plugin yet, in an interpreter of its own: run, or only read
//	Save                 save.go         its file
//
// The words of the wire are in wire.go. They are our own: both ends are here.
//
// What it is not: a sandbox. Plugins of one interpreter can reach each other, and what one does to
// the process it does to all.
package python
