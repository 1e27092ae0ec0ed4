package httpapi

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Shapes holds a value of the type of each answer that a backend returns as JSON or as a value of
// type any. The OpenAPI document is made from these types, which are the ones that are really
// encoded: the tags of their fields describe them. A shape that is nil is not described.
type Shapes struct {
	Plugins    any // the answer of Inspect.Plugins
	Plugin     any // of Inspect.Plugin
	Tools      any // of Inspect.Tools
	Doctor     any // of Inspect.Doctor
	Pipeline   any // of Inspect.Pipeline
	Health     any // of Inspect.Health
	KnobChange any // of Plugins.SetKnob
	Turn       any // of Turns.Run
	Jobs       any // of Jobs.List and Jobs.Get
	Run        any // of Jobs.Start, Jobs.Cancel and Jobs.Run
	Runs       any // of Jobs.Runs
	Output     any // a list of the lines of Jobs.Output

	// Names are the names of types in the document, if their names in Go are not clear outside of
	// their packages.
	Names map[reflect.Type]string
}

// name returns the name of a type in the document.
func (s *Shapes) name(t reflect.Type, hint string) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := s.Names[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}
