// Package plugintest tests a plugin without a host: it plays a host of any dialect, inside the
// test's own process.
//
//	func TestGuard(t *testing.T) {
//		plugintest.Each(t, newPlugin, func(t *testing.T, h *plugintest.Host) {
//			...
//		})
//	}
//
// A Host is one process of the plugin in one dialect. Fire sends an event, and returns the verdict
// and the event as the plugin left it; Tool, Method and Command call the plugin's other functions.
// Sent and Received of an outcome are the messages of the protocol. State, config files and the
// home directory are in a temporary directory; kaged's storage is in memory.
//
//	New                host.go
//	  start            dialects with a conversation: Plugin.Run on pipes, and the handshake
//	    read           passes on answers, records notifications, serves kaged's storage
//	Fire               fire.go: sends the event in the dialect's form, and reads the answer
//	  job, stage       dotagent, mine: one process for each call
//	  kagedHook        a request
//	  scaffoldHook     a request
//	Tool, Method, …    call.go
//
// Package plugintest tests what a plugin does. `patchbay plugin test` checks that the built program
// keeps the rules of its protocol, even if input is invalid or a call fails.
package plugintest
