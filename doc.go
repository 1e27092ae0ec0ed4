// Package patchbay is a plugin host. It runs plugins that are written in any language and speak one
// of five protocols, or MCP, and lets your program call them. Plugins need no change for that.
//
// # Opening a host
//
// A [Host] is a set of running plugins:
//
//	host, err := patchbay.Open(ctx, nil)
//	if err != nil {
//		return err
//	}
//	defer host.Close()
//
// [Open] finds the plugins that are installed for each protocol, starts them in parallel and waits
// until each is ready or has failed. A plugin that fails is left out; [Host.Plugins] lists it with
// the reason, and [Host.Findings] says how to fix it. To use only the plugins of your program, set
// Dirs in the [Options].
//
// # Firing an event
//
// An event is something that happens in your program at a point, such as [hook.TurnInput]: the user
// has sent a message. [Host.Fire] sends the event through every plugin that hooks the point:
//
//	out, err := host.Fire(ctx, hook.TurnInput, map[string]string{"message": text})
//	if err != nil {
//		return err
//	}
//	if out.Verdict == hook.Deny {
//		return fmt.Errorf("%s refuses: %s", out.By, out.Reason)
//	}
//
// The outcome has the verdict, the payload as the plugins left it, and a step for each plugin that
// was called. Package [github.com/patchbay-dev/patchbay/hook] describes points, verdicts and steps.
//
// # Calling a tool
//
// Plugins can also offer tools. [Host.Tools] lists them, and [Host.CallTool] calls one by its full
// name:
//
//	result, err := host.CallTool(ctx, "plugin_notes_list", map[string]int{"limit": 10})
//
// # Going on
//
// A [Plugin] is made of Go functions and needs no process: use it for your own extensions and in
// tests. A [Point] declares a point of your program. The page docs/embedding.md explains these, and
// storage, limits and trust.
package patchbay
