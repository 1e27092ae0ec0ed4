// Package patchbay is a plugin host. A plugin written in any language, for any
// of the protocols in the dialect folder, plugs into it unchanged, and from
// there into your program:
//
//	host, err := patchbay.Open(ctx, nil)
//	if err != nil {
//		return err
//	}
//	defer host.Close()
//	out, err := host.Fire(ctx, hook.TurnInput, map[string]string{"message": text})
//
// Open finds the plugins people already have, where their protocols keep them,
// starts them side by side and shakes hands; one that fails is reported in
// [Host.Plugins] and left out. Fire takes an event through every plugin that
// hooks its point, in order, and returns what became of it with a trace of who
// changed what. CallTool calls a tool that a plugin offers.
//
//	Open                 options.go   what is asked for, and the configuration
//	  search             search.go    every dialect's places, the config's word on each
//	  start              start.go     in parallel, a few at a time
//	  wire               wire.go      hooks onto the bus, tools by name
//	Fire, CallTool       patchbay.go  one call each; package hook does the rest
//	Plugins, Plugin      info.go      who is here, and how they are doing
//	Doctor               doctor.go    what is wrong, and how to mend it
package patchbay
