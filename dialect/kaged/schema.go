package kaged

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

// A Schema is a compiled JSON Schema of a manifest. A nil Schema is that of a
// manifest without one: it allows everything. It is safe for concurrent use.
type Schema struct {
	compiled  *jsonschema.Schema
	raw       json.RawMessage
	fields    []string
	unchecked []schemaFault // patterns that cannot be checked here
}

// A SchemaError is one way in which a value does not fit a schema. It never
// repeats the value: that may be a secret.
type SchemaError struct {
	Path    string // e.g. servers[0].port; "" for the value itself
	Message string
}

func (e SchemaError) String() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// JSON returns the schema as it was written, compact; nil where there is none.
func (s *Schema) JSON() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.raw
}

// Fields returns the names of the schema's properties, as they were written, in order.
func (s *Schema) Fields() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.fields)
}

// Check reports every way in which a JSON value does not fit, in the order of
// their paths.
func (s *Schema) Check(value json.RawMessage) []SchemaError {
	if s == nil {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []SchemaError{{Message: "is not valid JSON"}}
	}
	faults := badNumbers(doc, nil)
	switch {
	case len(faults) > 0:
	case !affordable(s.compiled, doc):
		faults = []schemaFault{{message: "the schema is too complex to check this against, or refers to itself without end"}}
	default:
		faults = faultsOf(s.compiled.Validate(doc))
	}
	return schemaErrors(doc, faults)
}

// maxSchemaErrors bounds what Check returns: a long list can be wrong in each item.
const maxSchemaErrors = 100

// schemaErrors puts faults in order, each once; the library's order changes from
// run to run.
func schemaErrors(doc any, faults []schemaFault) []SchemaError {
	var out []SchemaError
	for _, f := range faults {
		out = append(out, SchemaError{valuePath(doc, f.at), f.message})
	}
	slices.SortFunc(out, func(a, b SchemaError) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	out = slices.Compact(out)
	if more := len(out) - maxSchemaErrors; more > 0 {
		out = append(out[:maxSchemaErrors], SchemaError{Message: fmt.Sprintf("and %d more", more)})
	}
	return out
}

// faultsOf turns the outcome of a validation into faults.
func faultsOf(err error) []schemaFault {
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return explain(invalid)
	}
	return []schemaFault{{message: err.Error()}}
}

// badNumbers finds the numbers of a value that are too long to compute with.
func badNumbers(v any, at []string) []schemaFault {
	var out []schemaFault
	switch v := v.(type) {
	case json.Number:
		if why := badNumber(v.String()); why != "" {
			out = append(out, schemaFault{slices.Clone(at), why})
		}
	case []any:
		for i, item := range v {
			out = append(out, badNumbers(item, append(at, fmt.Sprint(i)))...)
		}
	case map[string]any:
		for name, item := range v {
			out = append(out, badNumbers(item, append(at, name))...)
		}
	}
	return out
}

// schemaURL is the address a manifest's schema has within the compiler. Nothing
// is to be found there; it gives references something to start from.
const schemaURL = "manifest:///schema"

// A selfContained loader finds nothing: a schema must not make the host read
// files or fetch addresses. (The drafts' own metaschemas are built in and never
// come here.)
type selfContained struct{}

var errOutside = errors.New("outside of the manifest")

func (selfContained) Load(string) (any, error) { return nil, errOutside }

// compileSchema compiles the JSON of a schema. There are faults where there is
// no schema.
func compileSchema(raw json.RawMessage) (*Schema, []schemaFault) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, []schemaFault{{message: err.Error()}}
	}
	patterns := newPatternEngine()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(selfContained{})
	c.UseRegexpEngine(patterns.compile)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, []schemaFault{{message: err.Error()}}
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, compileFaults(doc, err, patterns)
	}
	return &Schema{
		compiled:  compiled,
		raw:       raw,
		fields:    fieldNames(raw),
		unchecked: patterns.unchecked(doc),
	}, nil
}

// compileFaults says in plain words, and where, why a schema does not compile.
func compileFaults(doc any, err error, patterns *patternEngine) []schemaFault {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		faults := faultsOf(invalid.Err)
		for i, f := range faults {
			f.at = append(pointer(invalid.URL), f.at...)
			faults[i] = patterns.explain(doc, f)
		}
		return faults
	}
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return referenceFault(doc, "outside of the manifest; a schema must be self-contained", func(ref string) bool {
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
	return []schemaFault{{message: strings.ReplaceAll(err.Error(), schemaURL, "")}}
}

// referenceFault blames the first reference in doc that is the one.
func referenceFault(doc any, why string, isIt func(ref string) bool) []schemaFault {
	at := findEntry(doc, func(key string, v any) bool {
		ref, ok := v.(string)
		return ok && slices.Contains(referenceKeys, key) && isIt(ref)
	})
	if at == nil {
		return []schemaFault{{message: "has a reference to a schema, " + why}}
	}
	ref, _ := valueAt(doc, at).(string)
	return []schemaFault{{at, fmt.Sprintf("refers to %s, %s", cite(ref), why)}}
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
