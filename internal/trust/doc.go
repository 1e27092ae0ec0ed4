// Package trust keeps patchbay.lock: for each plugin the SHA-256 of its files, where it came from,
// and the capabilities it was granted. It tells whether a plugin is still the one that was
// recorded.
//
// It starts nothing and decides nothing about sandboxes: package pluginhost asks it before a plugin
// is started, and obeys. It does not know dialects. What a plugin is made of, its caller says with
// [Root].
//
//	Keeper.Judge        before plugins are started
//	├─ stampOf          sizes, times and inodes; where they are those of the cache, nothing is read (record)
//	├─ Take             reads and hashes the files (locked, or where something has changed)
//	└─ Book.Update      one process at a time: records what is new (record)
//	Keeper.Check        before each process is started (locked)
//	Load, Book.Update   the lock file, read and replaced as a whole
//	Compare             what has changed between two states of a plugin's files
//	Book.Keep           the texts of small files, kept when a plugin is recorded
//	Book.Explain        what has changed, with the texts of before and now
package trust
