// Package config reads the files that an operator writes: config.toml, and secrets.toml beside it.
// It also knows where these files, the data and the state are.
//
// The package reads and checks. It does not write or watch files, does not expand ${NAME}, and does
// not decide what a setting does. Only its callers know the points, the hooks and the configuration
// of each plugin. The callers check these and report mistakes with [Config.Problem], so that each
// has a line and a column too.
//
// All mistakes in a file are reported at once, in one [*Error]. The flow of a load:
//
//	Load
//	├─ document.Read         at most 1 MiB; a missing file is an empty one
//	├─ document.TOML         parses the file and the position of each key and value
//	└─ readConfig            one function for each table (schema.go)
//	   └─ Table.Text, …      typed values, problems collected
//
// [Sections] is a table of every key. It is the source of the sample file ([Sample]) and of the
// list of settings in force ([InForce], which never contains a secret). Tests check that it has
// exactly the keys that are read.
//
// The tables are read by hand and not decoded into tagged structs. The decoder stops at the first
// value of a wrong type, and it does not distinguish an unset key from a zero value.
package config
