package schema

import "github.com/santhosh-tekuri/jsonschema/v6"

// maxEvaluations bounds one check, in subschemas applied to values. A schema of
// a few lines can ask for more than there is time for: forty definitions, each
// twice an allOf of the next.
//
// maxNesting bounds how deep they are within each other: a schema that refers to
// itself has no end, and no config or list of arguments is a thousand
// levels deep.
const (
	maxEvaluations = 100_000
	maxNesting     = 1000
)

// affordable reports whether checking v against s stays within those bounds. It
// walks as the validator will, every branch taken, but computes nothing, and
// stops at the bound.
func affordable(s *jsonschema.Schema, v any) bool {
	w := workload{left: maxEvaluations}
	w.apply(s, v)
	return w.left > 0
}

// A workload counts down the evaluations that are left.
type workload struct{ left, depth int }

func (w *workload) apply(s *jsonschema.Schema, v any) {
	if s == nil || w.left <= 0 {
		return
	}
	if w.depth == maxNesting {
		w.left = 0
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.left--
	if s.Enum != nil {
		w.left -= len(s.Enum.Values)
	}
	w.inPlace(s, v)
	switch v := v.(type) {
	case map[string]any:
		w.object(s, v)
	case []any:
		w.list(s, v)
	}
}

// inPlace applies the subschemas that look at the same value as s.
func (w *workload) inPlace(s *jsonschema.Schema, v any) {
	if s.DynamicRef != nil {
		w.apply(s.DynamicRef.Ref, v)
	}
	for _, sub := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		w.apply(sub, v)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			w.apply(sub, v)
		}
	}
	for _, sub := range s.DependentSchemas {
		w.apply(sub, v)
	}
	for _, dependency := range s.Dependencies {
		w.applyAny(dependency, v)
	}
}

// applyAny applies what may be a subschema or something else.
func (w *workload) applyAny(sub, v any) {
	switch sub := sub.(type) {
	case *jsonschema.Schema:
		w.apply(sub, v)
	case []*jsonschema.Schema:
		for _, s := range sub {
			w.apply(s, v)
		}
	}
}

func (w *workload) object(s *jsonschema.Schema, object map[string]any) {
	for name, v := range object {
		w.apply(s.Properties[name], v)
		w.applyAny(s.AdditionalProperties, v)
		w.apply(s.UnevaluatedProperties, v)
		w.apply(s.PropertyNames, name)
		for _, sub := range s.PatternProperties {
			w.left--
			w.apply(sub, v)
		}
	}
}

func (w *workload) list(s *jsonschema.Schema, list []any) {
	for i, v := range list {
		w.applyAny(s.Items, v)
		w.applyAny(s.AdditionalItems, v)
		w.apply(s.Items2020, v)
		w.apply(s.UnevaluatedItems, v)
		w.apply(s.Contains, v)
		if i < len(s.PrefixItems) {
			w.apply(s.PrefixItems[i], v)
		}
	}
}
