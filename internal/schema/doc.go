// Package schema checks JSON values against the JSON Schemas that plugins bring along. Both are
// foreign: a schema reads no file and fetches no address, its work is bounded, and what is wrong
// with a value is told without repeating the value, which may be a secret.
//
//	Compile              compile.go    bounds, then four passes over the document
//	  badNumbers         number.go     numbers too long to compute with
//	  newIndex           index.go      which schemas there are: their addresses, anchors, drafts
//	  checkSchema        meta.go       each keyword has the shape that its draft asks for
//	    shapeOf          draft.go      the keywords of each draft
//	    patternEngine    pattern.go    regular expressions, which are ECMAScript's
//	  builder            build.go      a node for each schema that is used
//	    object           keywords.go   what its keywords ask for
//	    resolve          resolve.go    where its references lead
//	  dynamics           build.go      where those may lead that depend on the way to them
//	Schema.Check         schema.go
//	  checkValue         check.go      holds a value against a node, every keyword in turn
//	    begin            work.go       gives up where there is too much to do
//	    values           check.go      type, const, enum
//	    object, list     check_*.go    fields and items
//	    inPlace          check_*.go    $ref, allOf, anyOf, oneOf, not, if
//	    unevaluated      evaluated.go  what none of those has looked at
//	  report             report.go     the faults, and where the check is
//	  inOrder            schema.go     sorted, each once
//
// It knows 2020-12, 2019-09 and the drafts 07, 06 and 04. It is our own:
// docs/decisions/0018-json-schema.md says why, and what is left out.
//
// It knows nothing of manifests: where in a plugin's file a fault lies is for the dialect to say,
// from the path that a Fault has.
package schema
