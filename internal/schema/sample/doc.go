// Package sample makes values that fit a JSON Schema: arguments for tools, configs for plugins.
// They are the same at each run. It knows schemas, and not whose they are: what a field of a
// certain name is to have, its caller says with [Names].
//
//	All      Minimal, Full and Boundary: for tests. What does not fit is left out
//	Object   one object, for a person to begin with
//	  generator.value   sample.go: references, branches, objects, lists
//	  number, text      scalar.go: numbers within limits, formats, patterns
package sample
