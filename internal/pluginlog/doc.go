// Package pluginlog keeps what plugins write to stderr, and what the host says of them, in a file
// for each plugin below the state directory: `patchbay plugin logs` shows it. A file has a bound,
// and the one before it is kept.
//
// It starts nothing and knows no dialect. What it keeps are the records of a log that name a
// plugin; secrets are taken out of them.
//
//	Store.Tee         a slog.Handler that passes records on, and keeps those about plugins
//	└─ Store.appendLine   one line, appended at once: several processes write the same file
//	Store.Lines       the last lines
//	Store.Follow      those that come
package pluginlog
