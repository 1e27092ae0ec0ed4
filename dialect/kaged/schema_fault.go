package kaged

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A schemaFault is one thing wrong with a value, or with a schema, and the path
// to it: keys, and the indexes of lists.
type schemaFault struct {
	at      []string
	message string
}

// explain flattens the library's tree of errors to the faults at its leaves.
func explain(e *jsonschema.ValidationError) []schemaFault {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) > 0 {
			return closestForm(e)
		}
	case *kind.Required:
		return each(e, k.Missing, "is required")
	case *kind.AdditionalProperties:
		return each(e, k.Properties, "is not a field the schema knows")
	case *kind.PropertyNames:
		return each(e, []string{k.Property}, "has a name the schema does not allow")
	case *kind.Not:
		return []schemaFault{{e.InstanceLocation, `must not fit the schema under "not"`}}
	}
	if len(e.Causes) == 0 {
		return []schemaFault{{e.InstanceLocation, failure(e.ErrorKind)}}
	}
	var out []schemaFault
	for _, cause := range e.Causes {
		out = append(out, explain(cause)...)
	}
	return out
}

// each makes one fault for each of the named fields.
func each(e *jsonschema.ValidationError, names []string, message string) []schemaFault {
	var out []schemaFault
	for _, name := range names {
		out = append(out, schemaFault{append(slices.Clone(e.InstanceLocation), name), message})
	}
	return out
}

// closestForm explains a value that fits none of several schemas. Where one of them
// fits the value itself and fails only deeper inside, its faults are meant;
// else all are named.
func closestForm(e *jsonschema.ValidationError) []schemaFault {
	var best []schemaFault
	var all []string
	for _, cause := range e.Causes {
		faults := explain(cause)
		deeper := !slices.ContainsFunc(faults, func(f schemaFault) bool { return len(f.at) <= len(e.InstanceLocation) })
		if deeper && (best == nil || len(faults) < len(best)) {
			best = faults
		}
		for _, f := range faults {
			if !slices.Contains(all, f.message) {
				all = append(all, f.message)
			}
		}
	}
	if best != nil {
		return best
	}
	return []schemaFault{{e.InstanceLocation, shorten(strings.Join(all, ", or "))}}
}

// failure says what one keyword of a schema wants. It names what the schema
// says, never the value.
func failure(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be of type %s, is %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "must be one of " + choices(k.Want)
	case *kind.Const:
		return "must be " + choices([]any{k.Want})
	case *kind.Format:
		return "is not in the format " + cite(k.Want)
	case *kind.Pattern:
		return "does not match the pattern " + cite(k.Want)
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.RefCycle:
		return "the schema refers to itself without end"
	case *kind.OneOf:
		return "must fit exactly one of several schemas, fits more"
	case *kind.UniqueItems:
		return fmt.Sprintf("must not repeat an item: %d and %d are the same", k.Duplicates[0], k.Duplicates[1])
	case *kind.DependentRequired:
		return fmt.Sprintf("has %s, so it must have %s too", cite(k.Prop), citeAll(k.Missing))
	case *kind.Dependency:
		return fmt.Sprintf("has %s, so it must have %s too", cite(k.Prop), citeAll(k.Missing))
	}
	if s := limit(k); s != "" {
		return s
	}
	return "does not satisfy " + cite(strings.Join(k.KeywordPath(), "/"))
}

// limit is failure for the keywords that are a number.
func limit(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d fields", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d fields", k.Want)
	}
	return ""
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return shorten(r.Num().String())
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// choices lists values of a schema as JSON.
func choices(values []any) string {
	var out []string
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte("?")
		}
		out = append(out, string(text))
	}
	return shorten(strings.Join(out, ", "))
}

func citeAll(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, cite(name))
	}
	return shorten(strings.Join(out, ", "))
}

// shorten cuts a text of a schema's own for a message.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
