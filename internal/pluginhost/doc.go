// Package pluginhost implements the host: it finds plugins, starts them, puts their hooks on the
// bus, and calls them. It is not a public API: programs that embed Patchbay use the root package, a
// thin layer over this one. The patchbay command, the daemon and the demo use pluginhost directly.
//
//	Open                 host.go      opens a host:
//	  setup              options.go   reads the options and the configuration
//	  search             search.go    lists the plugins in every dialect's places
//	  start              start.go     starts them in parallel, a few at a time
//	  wire               wire.go      puts hooks on the bus and indexes tools by name
//	Fire, CallTool       host.go      one call each, through package hook
//	Plugins, Plugin      info.go      which plugins there are, and their state
//	Doctor               doctor.go    what is wrong, and how to fix it
//
// The package knows no engine, no model and no terminal. Values that plugins store go to
// [Options.Storage].
package pluginhost
