// Package pluginlog stores what plugins write to stderr and what the host logs about them, in one
// file for each plugin below the state directory. `patchbay plugin logs` shows it. A file has a
// maximum size; when it is full, a new one is begun and the previous one is kept.
//
// The package starts nothing and knows no protocol. It stores log records that name a plugin. Its
// caller says which secrets are removed from them.
//
//	Store.Tee             a slog.Handler that passes records on and stores those about plugins
//	└─ Store.appendLine   appends one line in one write: several processes write the same file
//	Store.Follow          returns the last lines and a Follower for new ones
package pluginlog
