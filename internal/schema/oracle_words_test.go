package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// The functions below turn the library's errors into messages in our words, so that both can be
// compared.

// oracleExplain flattens the library's tree of errors to the faults at its leaves.
func oracleExplain(e *jsonschema.ValidationError) []Fault {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) > 0 {
			return oracleForm(e)
		}
	case *kind.Required:
		return oracleEach(e, k.Missing, "is required")
	case *kind.AdditionalProperties:
		return oracleEach(e, k.Properties, "is not a field the schema knows")
	case *kind.PropertyNames:
		return oracleEach(e, []string{k.Property}, "has a name the schema does not allow")
	case *kind.Not:
		return []Fault{{e.InstanceLocation, `must not fit the schema under "not"`}}
	}
	if len(e.Causes) == 0 {
		return []Fault{{e.InstanceLocation, oracleFailure(e.ErrorKind)}}
	}
	var out []Fault
	for _, cause := range e.Causes {
		out = append(out, oracleExplain(cause)...)
	}
	return out
}

// oracleEach makes one fault for each of the named fields.
func oracleEach(e *jsonschema.ValidationError, names []string, message string) []Fault {
	var out []Fault
	for _, name := range names {
		out = append(out, Fault{append(slices.Clone(e.InstanceLocation), name), message})
	}
	return out
}

// oracleForm explains a value that fits none of several schemas, as failForms does.
func oracleForm(e *jsonschema.ValidationError) []Fault {
	var best []Fault
	var all []string
	for _, cause := range e.Causes {
		faults := oracleExplain(cause)
		deeper := !slices.ContainsFunc(faults, func(f Fault) bool { return len(f.At) <= len(e.InstanceLocation) })
		if deeper && (best == nil || len(faults) < len(best)) {
			best = faults
		}
		for _, f := range faults {
			if !slices.Contains(all, f.Message) {
				all = append(all, f.Message)
			}
		}
	}
	if best != nil {
		return best
	}
	return []Fault{{e.InstanceLocation, shorten(strings.Join(all, ", or "))}}
}

// oracleFailure returns what one keyword of a schema demands. It repeats text of the schema, but
// never the value.
func oracleFailure(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be of type %s, is %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "must be one of " + choices(k.Want)
	case *kind.Const:
		return "must be " + choices([]any{k.Want})
	case *kind.Format:
		return "is not in the format " + Cite(k.Want)
	case *kind.Pattern:
		return "does not match the pattern " + Cite(k.Want)
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.RefCycle:
		return "the schema refers to itself without end"
	case *kind.OneOf:
		return "must fit exactly one of several schemas, but fits more"
	case *kind.UniqueItems:
		return fmt.Sprintf("must not repeat an item: %d and %d are the same", k.Duplicates[0], k.Duplicates[1])
	case *kind.DependentRequired:
		return fmt.Sprintf("has %s, so it must have %s too", Cite(k.Prop), citeAll(k.Missing))
	case *kind.Dependency:
		return fmt.Sprintf("has %s, so it must have %s too", Cite(k.Prop), citeAll(k.Missing))
	}
	if s := oracleLimit(k); s != "" {
		return s
	}
	return "does not satisfy " + Cite(strings.Join(k.KeywordPath(), "/"))
}

// oracleLimit is oracleFailure for keywords that are a number.
func oracleLimit(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + oracleDecimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + oracleDecimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + oracleDecimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + oracleDecimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + oracleDecimal(k.Want)
	case *kind.MinLength:
		return "must have at least " + counted(strconv.Itoa(k.Want), "character")
	case *kind.MaxLength:
		return "must have at most " + counted(strconv.Itoa(k.Want), "character")
	case *kind.MinItems:
		return "must have at least " + counted(strconv.Itoa(k.Want), "item")
	case *kind.MaxItems:
		return "must have at most " + counted(strconv.Itoa(k.Want), "item")
	case *kind.MinProperties:
		return "must have at least " + counted(strconv.Itoa(k.Want), "field")
	case *kind.MaxProperties:
		return "must have at most " + counted(strconv.Itoa(k.Want), "field")
	}
	return ""
}

func oracleDecimal(r *big.Rat) string { return number{big: r}.String() }
