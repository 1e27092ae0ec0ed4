// Package document reads TOML and YAML files that people write by hand, and reports every problem
// at once. Callers get each key by name; a key that no caller gets is unknown. Each problem has its
// line and column and, if it is known, a fix.
//
//	TOML | YAML | YAMLList | Of   a file, or settings that were read before, into the top table
//	├─ locate           finds each key and value of TOML in the file         toml_spot.go
//	├─ misshapen        refuses input that would keep the YAML library busy  yaml_limits.go
//	└─ node             the common form: values, with their places and in their order
//	Table.Text …        one key each, with a problem if the value is wrong   table.go
//	└─ Value.Text …     the same for a value                                 value.go
//	Table.End           reports the keys that were not read
//	Table.Err           all problems, in the order of the lines              table.go
//
// The package does not know what the keys mean. Its callers check the meaning.
package document
