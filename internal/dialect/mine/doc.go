// Package mine speaks the mine protocol (seed 001): a folder with a mine-plugin.toml and a program
// beside it, which is started once for each call, without arguments, with one JSON object on stdin.
//
//	Find                mine.go        one folder a plugin; its manifest and its program are looked at
//	  parseManifest     manifest.go    every problem at once, with line and column (toml.go)
//	Open                plugin.go
//	  greet             lifecycle.go   the event init, which nobody waits for
//	Hooks, Connect      plugin.go      prevalidate, preexec, postexec, notify
//	  show              translate.go   event to context (connect.go: at points not its own)
//	  run               call.go        one process; standby, deadline, group kill
//	  parseReply        wire.go        stdout to what the plugin changed
//	Declared            absent.go      the hooks of a plugin that cannot be opened, all of which fail
//	RunCommand          command.go     a command of the plugin's own, its output passed on as it comes
//	  atTerminal        terminal.go    the same for a user at a terminal, who is given to the program
//	Status              lifecycle.go   the event health, asked once
//	Close               lifecycle.go   the event shutdown
//
// What it is not: it runs no commands of a user's and parses no arguments; the command adapter
// does, and fires the four points. The protocol's own words stay in wire.go.
package mine
