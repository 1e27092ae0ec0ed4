// Package plugindir finds the plugins in a directory that is not a dialect's place for plugins: one
// in which an author writes a plugin, or a source to install from. It reads names, manifests and
// the first bytes of programs, and starts nothing.
//
//	All            every plugin in a tree: plugin install
//	├─ folders     directories with a manifest
//	└─ file        files that are plugins, and not tests, tools or modules
//	One            the plugin that a path means: plugin test, plugin dev
//	└─ level       the plugins of one directory, with folders and file
//
// The package does not decide what to do with a plugin. Packages conformance, plugindev and
// plugininstall decide that.
package plugindir
