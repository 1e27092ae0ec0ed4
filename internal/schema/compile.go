package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What a schema may be at most. People's schemas have some kilobytes.
//
// maxValues is there because the compiler looks through all subschemas it knows
// for each new one. Some hundred fields fit.
const (
	maxBytes  = 256 << 10
	maxValues = 2000
)

// schemaURL is the address a schema has within the compiler. Nothing is to be
// found there; it gives references something to start from.
const schemaURL = "plugin:///schema"

// A selfContained loader finds nothing: a schema must not make the host read
// files or fetch addresses. (The drafts' own metaschemas are built in and never
// come here.)
type selfContained struct{}

var errOutside = errors.New("outside of the schema")

func (selfContained) Load(string) (any, error) { return nil, errOutside }

// Compile compiles the JSON of a schema, which the caller leaves alone from then
// on. Where there are faults there is no schema.
func Compile(raw json.RawMessage) (*Schema, []Fault) {
	doc, faults := parse(raw)
	if len(faults) > 0 {
		return nil, faults
	}
	patterns := newPatternEngine()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(selfContained{})
	c.UseRegexpEngine(patterns.compile)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, []Fault{{Message: shorten(err.Error())}}
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, sorted(compileFaults(doc, err, patterns))
	}
	return &Schema{
		compiled:  compiled,
		raw:       raw,
		fields:    fieldNames(raw),
		unchecked: patterns.unchecked(doc),
	}, nil
}

// parse reads a schema and holds it against the bounds, before the compiler
// sees it.
func parse(raw json.RawMessage) (doc any, faults []Fault) {
	if len(raw) > maxBytes {
		return nil, []Fault{{Message: fmt.Sprintf("is too large: over %d KiB", maxBytes>>10)}}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, []Fault{{Message: "is not valid JSON: " + shorten(err.Error())}}
	}
	if n := size(doc); n > maxValues {
		return nil, []Fault{{Message: fmt.Sprintf("is too large: %d values, at most %d", n, maxValues)}}
	}
	return doc, sorted(badNumbers(doc, nil))
}

// sorted puts faults in the order of their paths: neither the library's nor that
// of a Go map is the same from run to run.
func sorted(faults []Fault) []Fault {
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(slices.Compare(a.At, b.At), strings.Compare(a.Message, b.Message))
	})
	return faults
}

// compileFaults says in plain words, and where, why a schema does not compile.
func compileFaults(doc any, err error, patterns *patternEngine) []Fault {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		faults := faultsOf(invalid.Err)
		for i, f := range faults {
			f.At = append(pointer(invalid.URL), f.At...)
			faults[i] = patterns.explain(doc, f)
		}
		return faults
	}
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return referenceFault(doc, "outside of the schema, which must be self-contained", func(ref string) bool {
			base, _, _ := strings.Cut(ref, "#")
			return base != "" && strings.HasSuffix(outside.URL, base)
		})
	}
	if lost := lostReference(err); lost != "" {
		_, fragment, _ := strings.Cut(lost, "#")
		return referenceFault(doc, "which is not there", func(ref string) bool {
			return strings.HasSuffix(ref, "#"+fragment)
		})
	}
	return []Fault{{Message: shorten(strings.ReplaceAll(err.Error(), schemaURL, ""))}}
}

// referenceFault blames the first reference in doc that is the one.
func referenceFault(doc any, why string, isIt func(ref string) bool) []Fault {
	at := findEntry(doc, func(key string, v any) bool {
		ref, ok := v.(string)
		return ok && slices.Contains(referenceKeys, key) && isIt(ref)
	})
	if at == nil {
		return []Fault{{Message: "has a reference to a schema, " + why}}
	}
	ref, _ := valueAt(doc, at).(string)
	return []Fault{{at, fmt.Sprintf("refers to %s, %s", Cite(ref), why)}}
}

var referenceKeys = []string{"$ref", "$dynamicRef", "$recursiveRef", "$schema"}

// lostReference returns the address that a reference within the schema did not
// lead to, "" where err is about something else.
func lostReference(err error) string {
	if e, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return e.URL
	}
	if e, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return e.Reference
	}
	return ""
}

// pointer splits the JSON pointer in an address's fragment.
func pointer(address string) []string {
	_, fragment, _ := strings.Cut(address, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil || !strings.HasPrefix(fragment, "/") {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	steps := strings.Split(fragment[1:], "/")
	for i := range steps {
		steps[i] = unescape.Replace(steps[i])
	}
	return steps
}
