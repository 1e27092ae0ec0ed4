// Package plugindir says which plugins are in a directory that is no dialect's place for plugins:
// what an author is writing, or a source that is to be installed. It reads names, manifests and the
// first bytes of programs, and starts nothing. It does not decide what becomes of a plugin:
// packages conformance, plugindev and plugininstall do.
//
//	All            every plugin in a tree: plugin install
//	One            the plugin that a path means: plugin test, plugin dev
//	└─ level       the plugins of one directory
//	   ├─ folders  directories with a manifest
//	   └─ file     a file that is a plugin, and no test, tool or module beside one
package plugindir
