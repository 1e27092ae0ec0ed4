// Package patchbay is a plugin host. A plugin written in any language, for any of five protocols,
// plugs into it unchanged, and from there into your program:
//
//	host, err := patchbay.Open(ctx, nil)
//	if err != nil {
//		return err
//	}
//	defer host.Close()
//	out, err := host.Fire(ctx, hook.TurnInput, map[string]string{"message": text})
//
// [Open] finds the plugins that people already have, where their protocols keep them, starts them
// side by side and shakes hands. One that fails is reported in [Host.Plugins] and left out.
// [Host.Fire] takes an event through every plugin that hooks its point, in order, and returns what
// became of it with a trace of who changed what. [Host.CallTool] calls a tool that a plugin offers.
//
// A program that wants its own plugins and nobody else's names their directories in [Options]. The
// page docs/embedding.md takes you through the rest.
package patchbay
