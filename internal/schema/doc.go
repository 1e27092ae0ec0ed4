// Package schema checks JSON values against the JSON Schemas that plugins bring
// along. Both are foreign: a schema reads no file and fetches no address, its
// work is bounded, and what is wrong with a value is told without repeating the
// value, which may be a secret.
//
//	Compile              compile.go   bounds, then the library's compiler
//	  badNumbers         number.go    numbers too long to compute with
//	  patternEngine      pattern.go   regular expressions, which are ECMAScript's
//	  compileFaults      compile.go   why it is no schema, and where
//	Schema.Check         schema.go
//	  affordable         work.go      counts the steps before they are taken
//	  explain            explain.go   the library's tree of errors, flat and in plain words
//
// It knows nothing of manifests: where in a plugin's file a fault lies is for
// the dialect to say, from the path that a Fault has.
package schema
