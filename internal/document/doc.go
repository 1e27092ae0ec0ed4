// Package document reads files that people write by hand, in TOML or YAML, and complains well:
// every key is asked for by name, what nobody asked for is unknown, and all complaints come at
// once, each with its line and column and, where it is known, what mends it. What the keys mean is
// for its callers to say.
//
//	TOML | YAML | Of    a file, or settings that were read before, into the top table
//	├─ locate           where each key and value of TOML stands     toml_spot.go
//	├─ misshapen        what the YAML library must not be given     yaml_limits.go
//	└─ node             what both become: values, with their places and in their order
//	Table.Text …        one key each, with a complaint where the value is not what was wanted    table.go
//	└─ Value.Text …     the same of a value that is handed on        value.go
//	Table.End           complains about the keys nobody asked for
//	Table.Err           all complaints, in the order of the lines    problem.go
package document
