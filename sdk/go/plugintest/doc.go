// Package plugintest tries a plugin without a host: it plays one, in the words of any dialect,
// inside the test's own process.
//
//	func TestGuard(t *testing.T) {
//		plugintest.Each(t, newPlugin, func(t *testing.T, h *plugintest.Host) {
//			...
//		})
//	}
//
// A Host is one process of the plugin in one dialect. Fire has an event asked about, and returns
// the verdict and the event as the plugin left it; Tool, Method and Command call the rest. Sent and
// Received of an outcome are the very words that passed. State, config files and the home directory
// are a temporary directory's; kaged's storage is the test's.
//
//	New
//	  start            dialects with a conversation: Plugin.Run on pipes
//	Fire
//	  ask              a request, or one process, in the dialect's form     words.go
//	  read             reads the answer                                    answers.go
//
// Whether a plugin holds to its protocol with everything that can go wrong is for `patchbay plugin
// test` to say.
package plugintest
