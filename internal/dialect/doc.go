// Package dialect says what a plugin-side protocol must provide to the hub. Each protocol is one
// folder below this one; only the root package lists them.
//
// A dialect does three things: it finds plugins where their authors put them ([Dialect.Find]),
// opens one ([Dialect.Open]), and from then on translates between the plugin's own words and the
// hub's ([Plugin]). It starts processes only through [Runtime.Procs], and never decides what a
// failure does to an event: it returns a [hook.Error], and the hub's table decides.
//
//	Dialect.Find         files and manifests; starts nothing
//	Dialect.Open         process, handshake
//	  Plugin.Hooks       one hook.Hook per native hook, wired by the host
//	  Plugin.CallTool    [ToolCaller], where it has tools
//	  Plugin.CallMethod  [MethodCaller], where it has methods
//	Plugin.Close         the protocol's own farewell, then the stop ladder
//
// Beside the interfaces are the few things that several protocols do in the same way: folders and
// manifests (found.go), a plugin's environment (env.go), tables of hooks at points (spot.go),
// values of a payload (value.go), calls that fail (failure.go).
package dialect
