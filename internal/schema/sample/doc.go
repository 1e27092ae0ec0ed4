// Package sample makes values that fit a JSON Schema: arguments for tools, configs for plugins.
// They are the same at each run.
//
//	All      Minimal, Full and Boundary, for tests; leaves out values that do not fit
//	Object   one object, for a person to start from
//	  generator.value   sample.go: references, branches, objects, lists
//	  number, text      scalar.go: numbers within limits, formats, patterns
//
// The package does not know whose schemas they are. Its caller says with [Names] what a field of a
// certain name should contain.
package sample
