// Package trust manages patchbay.lock: for each plugin the SHA-256 of its files, where it came
// from, and the capabilities that it was granted. It reports whether a plugin is still the recorded
// one.
//
// It starts nothing and decides nothing about sandboxes: package pluginhost asks it before a plugin
// is started, and obeys. It knows no dialects: its caller names the files of a plugin with [Root].
//
//	Keeper.Judge        before plugins are started
//	├─ stampOf          sizes, times and inodes; if the cache has them, nothing is read (record)
//	├─ Take             reads and hashes the files (locked, or if something has changed)
//	└─ Book.Update      one process at a time: records new plugins (record)
//	Keeper.Check        before each process is started (locked)
//	Load, Book.Update   the lock file, read and replaced as a whole
//	Compare             what has changed between two states of a plugin's files
//	Book.Keep           stores the texts of small files when a plugin is recorded
//	Book.Explain        what has changed, with the texts of before and now
package trust
