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
// and the event as the plugin left it; Tool, Method and Command call the rest. Sent and Received of
// an outcome are the messages of the protocol. State, config files and the home directory are in a
// temporary directory; kaged's storage is in memory.
//
//	New
//	  start            dialects with a conversation: Plugin.Run on pipes
//	Fire
//	  ask              a request, or one process, in the dialect's form
//	  read             reads the answer
//
// `patchbay plugin test` checks whether a plugin keeps to its protocol with everything that can go
// wrong.
package plugintest
