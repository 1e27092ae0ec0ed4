package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// An operation is a tool or a method: a function with a schema of its arguments.
type operation struct {
	name, description string

	schema  object // of the arguments
	timeout time.Duration
	run     func(ctx context.Context, arguments []byte) (any, error)

	once  sync.Once
	rules *rules // compiled at the first call
}

// Tool adds a tool, which a model can call. In is a struct whose fields are the arguments; the
// package documentation lists their tags. A result that is not a string reaches the model as JSON.
//
// The name has lower-case letters, digits, _ and -. Hosts put the plugin's name before it.
func Tool[In, Out any](p *Plugin, name, description string, run func(ctx context.Context, in In) (Out, error), with ...Option) {
	if !validTool.MatchString(name) {
		p.fault("tool %q: the name is invalid: use lower-case letters, digits, _ and -, a letter first", name)
	}
	if description == "" {
		p.fault("tool %q has no description: a model reads it", name)
	}
	p.tools = addOperation(p, "tool", p.tools, newOperation(p, name, description, run, with))
}

// Method adds a method, which programs can call by its full name, such as "words.total" (kaged).
func Method[In, Out any](p *Plugin, name, description string, run func(ctx context.Context, in In) (Out, error), with ...Option) {
	if !validMethod.MatchString(name) || strings.HasPrefix(name, "kaged.") || strings.HasPrefix(name, "system.") {
		p.fault("method %q: the name is invalid: use 2 to 4 lower-case words with dots between, the first not kaged or system", name)
	}
	p.methods = addOperation(p, "method", p.methods, newOperation(p, name, description, run, with))
}

func newOperation[In, Out any](p *Plugin, name, description string, run func(context.Context, In) (Out, error), with []Option) *operation {
	given := p.gather(name, with, options{within: 1, schema: "{}"})
	o := &operation{name: name, description: description, timeout: given.within}
	o.run = func(ctx context.Context, arguments []byte) (any, error) {
		in := new(In)
		if err := decodeExact(arguments, in); err != nil {
			return nil, &argumentError{decoding(err)}
		}
		return run(ctx, *in)
	}
	var err error
	if given.schema != "" {
		o.schema, err = parseObject([]byte(given.schema))
	} else {
		o.schema, err = schemaOf(reflect.TypeFor[In](), reflect.Value{})
	}
	if err != nil {
		p.fault("%s: the schema of its arguments: %w", name, err)
	}
	return o
}

func addOperation(p *Plugin, what string, list []*operation, o *operation) []*operation {
	if find(list, o.name) != nil {
		p.fault("%s %q is defined twice", what, o.name)
	}
	return append(list, o)
}

// find finds an operation by its name.
func find[T string | []byte](list []*operation, name T) *operation {
	for _, o := range list {
		if o.name == string(name) {
			return o
		}
	}
	return nil
}

// An argumentError is a mistake of the caller.
type argumentError struct{ error }

// invoke checks the arguments, calls the function, and turns a panic into an error.
func (p *Plugin) invoke(ctx context.Context, o *operation, arguments []byte) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = p.panicked(o.name, r)
		}
	}()
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	o.once.Do(func() { o.rules = compile(o.schema) })
	if err := o.rules.check(arguments); err != nil {
		return nil, &argumentError{err}
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	return o.run(ctx, arguments)
}

// decoding explains an error of encoding/json to the sender of the JSON.
func decoding(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field
		if field == "" {
			field = "the value"
		}
		return fmt.Errorf("%s: must be %s, got %s", field, typeName(wrong.Type), wrong.Value)
	}
	return err
}

func typeName(t reflect.Type) string {
	s, err := schemaOf(t, reflect.Value{})
	if name, ok := s.get("type").(string); ok && err == nil {
		return article(name)
	}
	return t.String()
}

// article puts the article before a type of JSON Schema.
func article(name string) string {
	switch name {
	case "integer":
		return "a whole number"
	case "object", "array":
		return "an " + name
	}
	return "a " + name
}
