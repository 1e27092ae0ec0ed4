// Package pluginhost is the inside of a host: it finds plugins, starts them, wires their hooks to
// the bus, and answers for them. The root package is what programs that embed Patchbay see of it;
// the patchbay command, the daemon and the demo use it directly.
//
//	Open                 options.go   what is asked for, and the configuration
//	  search             search.go    every dialect's places, the config's word on each
//	  start              start.go     in parallel, a few at a time
//	  wire               wire.go      hooks onto the bus, tools by name
//	Fire, CallTool       host.go      one call each; package hook does the rest
//	Plugins, Plugin      info.go      who is here, and how they are doing
//	Doctor               doctor.go    what is wrong, and how to fix it
//
// It knows no engine, no model and no terminal: what plugins store goes to [Options.Storage].
package pluginhost
