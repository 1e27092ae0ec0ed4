// Package tomlfile reads TOML files that people write by hand, and complains well: every key is asked for by name, what nobody
// asked for is unknown, and all complaints come at once, each with its line and column and, where it is known, what mends
// it. What the keys mean is for its callers to say.
//
//	Parse             a file into its top table; a syntax error is the one complaint
//	├─ locate         where each key and value stands           spot.go
//	Table.Text …      one value each, with a complaint where it is not what was wanted    table.go
//	Table.End         complains about the keys nobody asked for
//	Table.Err         all complaints, in the order of the lines  problem.go
package tomlfile
