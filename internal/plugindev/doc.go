// Package plugindev runs one plugin while its author works on it: it starts the plugin, starts it
// anew when its files change, sends it events and tool calls by command, and tells everything that
// happens as a list of events.
//
// It draws no screen and reads no keys: a caller gives it commands and shows the events, as lines
// of text ([Lines]) or of JSON. It decides nothing about plugins either: the host that Options.Open
// opens does, as for any other command.
//
//	Start                   session.go   the first load; then a goroutine that watches
//	  watch                 watch.go     the system's hints, and a look every few seconds
//	    Session.reloadNow   session.go   where a file has changed: end the plugin, open it again
//	      snapshot          files.go     which files there are, and how they look
//	Session.Do              do.go        one command: fire, call, again, restart, list
//	  Session.reloadChangedLocked        what changed a moment ago counts before the event
//	  sample.Payload, …     sample.go    a payload where the command has none
//	logger                  log.go       stderr lines, denials and warnings become events
//	Lines                   print.go     an event for people
package plugindev
