// Package config reads what an operator wrote down: config.toml, and secrets.toml beside it. It
// also knows where the two, the data and the state live.
//
// It reads and checks; it does not write, watch, expand ${NAME} or decide what a setting does.
// Names it cannot know (points, hooks, capabilities, a plugin's own configuration) are checked by
// those who do; they report through [Config.Problem], so that their complaints carry a line and a
// column as well.
//
// Every problem of a file is reported at once, in one [*Error]. The flow of a load:
//
//	Load
//	├─ document.Read         at most 1 MiB; a missing file is an empty one
//	├─ document.TOML        is it TOML at all, and where each key and value stands
//	└─ readConfig            one function a table (schema.go)
//	   └─ Table.Text, …      typed values, problems collected
//
// Beside it stands a table of every key ([Sections]), from which come the file to begin with
// ([Sample]) and the list of what is in force ([InForce], which never has a secret in it). Tests
// hold that the table has the keys that are read, and no other.
//
// The tables are read by hand rather than decoded into tagged structs, because the decoder stops at
// the first value of a wrong type, and because an unset key must differ from a zero one.
package config
