// Package plugininstall installs plugins into the places of their dialects: from a directory, a
// file, an archive or a git repository. It never runs or builds anything of a plugin.
//
// It knows no terminal and asks no questions: its caller decides, between [Fetch] and
// [Fetched.Place]. Package pluginhost tells it which dialect a plugin speaks, and package trust
// records the plugin.
//
//	ParseSource         reads a source as typed
//	Fetch               into a staging directory, limited
//	├─ copyTree         a directory
//	├─ unpackTar, unpackZip   an archive; download, if it has an address
//	├─ git.fetch        a repository: objects are fetched and read one by one, nothing is checked out
//	└─ sink             writes all foreign files
//	Fetched.Plugins     the plugins in it: detect
//	Fetched.Place       stages beside the target, exchanges in one step, records in the lock
//	Remove              removes a plugin
//	Sweep               removes what killed processes have left
package plugininstall
