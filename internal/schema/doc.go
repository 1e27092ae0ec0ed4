// Package schema checks JSON values against the JSON Schemas of plugins. Neither is trusted: a
// schema reads no file and fetches no address, its work is limited, and errors never repeat the
// value, which may be a secret.
//
//	Compile              compile.go    checks the size, then takes the steps below
//	  badNumbers         number.go     numbers too long to compute with
//	  newIndex           index.go      all schemas: their addresses, anchors, drafts
//	  metaCheck          meta.go       each keyword has the shape that its draft demands
//	    shapeOf          draft.go      the keywords of each draft
//	    patternEngine    pattern.go    regular expressions of ECMAScript
//	  builder            build.go      a node for each schema that is used
//	    values, inPlace  keywords.go   its keywords
//	    resolve          resolve.go    its references
//	  dynamics           build.go      the targets of references that depend on the scope
//	Schema.Check         schema.go
//	  checkValue         check.go      checks a value against a node, every keyword in turn
//	    begin            work.go       ends the check if there is too much work
//	    values           check.go      type, const, enum
//	    object, list     check_*.go    fields and items
//	    inPlace          check_*.go    $ref, allOf, anyOf, oneOf, not, if
//	    unevaluated      evaluated.go  fields and items that no other keyword has evaluated
//	  report             report.go     the faults, and the current path
//	  inOrder            schema.go     sorts them, removes duplicates
//
// It supports 2020-12, 2019-09 and the drafts 07, 06 and 04. docs/decisions/0018-json-schema.md
// says why it is our own, and which parts it leaves out.
//
// The package does not know manifests. A Fault has a path in the schema, from which the dialect
// finds the place in a plugin's file.
package schema
