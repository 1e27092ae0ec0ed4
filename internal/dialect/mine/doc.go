// Package mine speaks the mine protocol: docs/protocols/mine.md. A plugin is a folder with a
// mine-plugin.toml and a program, which is started once for each call, without arguments, with one
// JSON object on stdin.
//
//	Find                mine.go        one folder per plugin; reads the manifest, checks the program
//	  parseManifest     manifest.go    reports every problem at once, with line and column (glob.go: patterns)
//	Open                mine.go
//	  greet             lifecycle.go   sends the event init, and does not wait for it
//	Hooks, Connect      plugin.go      prevalidate, preexec, postexec, notify
//	  show              translate.go   event to context (connect.go: at connected points)
//	  run               call.go        one process; standby, deadline, group kill
//	  parseReply        protocol.go    stdout to what the plugin changed
//	  keepResult        result.go      what the plugin left out of a program's result
//	Declared            absent.go      the hooks of a plugin that cannot be opened, all of which fail
//	RunCommand          command.go     one of the plugin's commands, its output passed on as it arrives
//	  atTerminal        terminal.go    the same for a user at a terminal, which the program then uses directly
//	CheckHealth         lifecycle.go   sends the event health; Status returns the answer
//	Close               lifecycle.go   sends the event shutdown
//
// The package neither parses nor runs the user's commands. Package adapter/command does both, and
// fires the events of the four points. The names and limits of the protocol are in protocol.go.
package mine
