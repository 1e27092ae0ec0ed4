// Package plugindev runs one plugin during its development: it starts the plugin, restarts it when
// its files change, sends it events and tool calls by command, and reports everything that happens
// as events.
//
// It draws no screen and reads no keys: a caller gives it commands and shows the events, as lines
// of text ([Lines]) or of JSON. It decides nothing about plugins either: the host that Options.Open
// opens does, as for any other command.
//
//	Start                   session.go   the first load; then a goroutine that watches
//	  watch                 watch.go     hints of the system, and a check every few seconds
//	    Session.reloadChanged            if a file has changed: ends the plugin and opens it again
//	      take              files.go     the files and their states
//	Session.Do              do.go        one command: fire, call, again, restart, list
//	  Session.reloadChangedLocked        uses recent changes before the event
//	  payload, arguments    sample.go    a sample if the command has no payload (sample_schema.go)
//	logger                  log.go       stderr lines, denials and warnings become events
//	Lines                   print.go     an event for people
package plugindev
