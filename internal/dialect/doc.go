// Package dialect defines the interface between the host and a plugin-side protocol. Each protocol
// is a package below this one; internal/pluginhost lists them.
//
// A dialect finds plugins where their authors put them ([Dialect.Find]) and opens them
// ([Dialect.Open]). From then on it translates between the protocol and the hub, which is package
// hook ([Plugin]). It starts processes only through [Runtime.Procs]. A call that fails returns a
// [hook.Error], and does not decide what the failure does to the event. The hook's OnFailure
// decides that if it is set, and otherwise [Failures].
//
//	Dialect.Find                 reads files and manifests; starts nothing
//	Dialect.Open                 starts the process, makes the handshake
//	  Plugin.Hooks               one hook.Hook per native hook, which the host registers
//	  ToolCaller.CallTool        if the plugin has tools
//	  MethodCaller.CallMethod    if the plugin has methods
//	Plugin.Close                 ends the plugin as the protocol demands, then stops its process
//
// The package also has what several protocols do in the same way: folders and manifests (found.go),
// a plugin's environment (env.go), tables of hooks at points (spot.go), values of a payload
// (value.go), calls that fail (failure.go), records of the log (record.go).
//
// The package itself speaks no protocol and starts no plugin.
package dialect
