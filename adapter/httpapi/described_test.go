package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A described holds the parts of a schema that the tests check.
type described struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Examples    []json.RawMessage
	Example     json.RawMessage
	Enum        []any
	Properties  map[string]described
	Required    []string
	Items       *described
	AnyOf       []described
}

// made reports whether the value has its own schema, or is a list of such values.
func (d described) made() bool {
	return d.Ref != "" || d.Items != nil && d.Items.Ref != "" || len(d.AnyOf) > 0 && d.AnyOf[0].Ref != ""
}

// A body is a request or an answer in one media type.
type body struct {
	Schema  *described
	Example any
}

// fault says why the body has no example that fits its schema, or returns "" if it has one.
func (b body) fault(schemas map[string]described) string {
	if b.Example == nil {
		return "no example"
	}
	return misfit("the example", b.Example, *b.Schema, schemas)
}

// misfit says where a value does not fit a schema, or returns "" if it fits.
func misfit(at string, v any, s described, schemas map[string]described) string {
	if s.Ref != "" {
		s = schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	if len(s.AnyOf) > 0 {
		if v == nil {
			return ""
		}
		return misfit(at, v, s.AnyOf[0], schemas)
	}
	if types, ok := s.Type.([]any); s.Type != nil && s.Type != typeOf(v, s.Type) && !(ok && slices.Contains(types, any(typeOf(v, types[0])))) {
		return fmt.Sprintf("%s is %v, and should be %v", at, v, s.Type)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if s.Items == nil {
				break
			}
			if fault := misfit(fmt.Sprintf("%s[%d]", at, i), item, *s.Items, schemas); fault != "" {
				return fault
			}
		}
	case map[string]any:
		return misfits(at, v, s, schemas)
	}
	return ""
}

func misfits(at string, v map[string]any, s described, schemas map[string]described) string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return at + " has no " + name
		}
	}
	for name, value := range v {
		p, known := s.Properties[name]
		if !known && len(s.Properties) > 0 {
			return at + "." + name + " is not in the schema"
		}
		if fault := misfit(at+"."+name, value, p, schemas); fault != "" {
			return fault
		}
	}
	return ""
}

// typeOf returns the type of a value, in the words of JSON Schema. A number is an integer if want
// is "integer".
func typeOf(v any, want any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if want == "integer" {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// TestEverythingIsDescribed: each operation, parameter and field says what it is. Each has an
// example. The examples of requests and answers fit their schemas.
func TestEverythingIsDescribed(t *testing.T) {
	var doc struct {
		Servers []struct{ URL string }
		Tags    []struct{ Name, Description string }
		Paths   map[string]map[string]struct {
			Description, Summary string
			Tags                 []string
			Parameters           []struct {
				Name, In, Description string
				Example               json.RawMessage
				Schema                described
			}
			RequestBody *struct {
				Description string
				Content     map[string]body
			}
			Responses map[string]struct {
				Description string
				Content     map[string]body
			}
		}
		Components struct{ Schemas map[string]described }
	}
	text := serve(t, Options{Backend: everyPart(), Metrics: http.NotFoundHandler()}).do("GET", "/openapi.json", "").body
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, tag := range doc.Tags {
		if known = append(known, tag.Name); tag.Description == "" {
			t.Errorf("tag %s has no description", tag.Name)
		}
	}
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" {
		t.Errorf("servers: %v", doc.Servers)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Description == "" || len(op.Tags) != 1 || !slices.Contains(known, op.Tags[0]) {
				t.Errorf("%s %s: description %q, tags %q", method, path, op.Description, op.Tags)
			}
			for _, p := range op.Parameters {
				if p.Description == "" || p.Example == nil && p.Schema.Examples == nil {
					t.Errorf("%s %s: parameter %s: description %q, example %s", method, path, p.Name, p.Description, p.Example)
				}
			}
			if r := op.RequestBody; r != nil {
				if r.Description == "" {
					t.Errorf("%s %s: its body has no description", method, path)
				}
				for kind, content := range r.Content {
					if fault := content.fault(doc.Components.Schemas); fault != "" {
						t.Errorf("%s %s: request, %s: %s", method, path, kind, fault)
					}
				}
			}
			for status, r := range op.Responses {
				if !strings.HasSuffix(r.Description, ".") { // a sentence; the default of huma is the name of the status
					t.Errorf("%s %s: response %s: description %q", method, path, status, r.Description)
				}
				for kind, content := range r.Content {
					if content.Schema == nil || content.Schema.nullableList() {
						t.Errorf("%s %s: response %s: %s is %+v", method, path, status, kind, content.Schema)
					} else if fault := content.fault(doc.Components.Schemas); fault != "" {
						t.Errorf("%s %s: response %s, %s: %s", method, path, status, kind, fault)
					}
				}
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		if s.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field, p := range s.Properties {
			if p.Description == "" || !p.made() && p.Examples == nil && p.Example == nil {
				t.Errorf("%s.%s: description %q, examples %s", name, field, p.Description, p.Examples)
			}
			if p.nullableList() && !mayBeNull[name+"."+field] && !strings.HasSuffix(name, "Body") {
				t.Errorf("%s.%s: a list in an answer may be null", name, field)
			}
		}
	}
	for field := range mayBeNull {
		name, field, _ := strings.Cut(field, ".")
		if _, ok := doc.Components.Schemas[name].Properties[field]; !ok {
			t.Errorf("there is no %s.%s", name, field)
		}
	}
	if p := doc.Components.Schemas["PluginDetail"].Properties; p["name"].Type != "string" || p["wiring"].Type != "array" {
		t.Error("PluginDetail does not have the fields of Plugin")
	}
}

func (d described) nullableList() bool {
	types, _ := d.Type.([]any)
	return slices.Contains(types, any("array")) && slices.Contains(types, any("null"))
}
