// Package plugininstall brings plugins into the places where their dialects keep them: from a
// directory, a file, an archive or a git repository. It never runs or builds anything of a plugin.
//
// It knows no terminal and asks nobody: what is to be decided, its caller decides between [Fetch]
// and [Fetched.Place]. Which dialect a plugin speaks it learns from package pluginhost, and what is
// recorded of it from package trust.
//
//	ParseSource         what a person typed
//	Fetch               into a staging directory, bounded
//	├─ copyTree         a directory
//	├─ unpackTar, unpackZip   an archive; download, where it has an address
//	├─ git.fetch        a repository: objects are fetched and read one by one, nothing is checked out
//	└─ sink             the one way in which foreign files come to be on disk
//	Fetched.Plugins     who is there: detect
//	Fetched.Place       stage beside the target, swap at once, record in the lock
//	Remove              takes a plugin out again
//	Sweep               removes what killed processes have left
package plugininstall
