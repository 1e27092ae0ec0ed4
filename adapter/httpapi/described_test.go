package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A described is a schema, as far as it tells what it is.
type described struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Examples    []json.RawMessage
	Example     json.RawMessage
	Enum        []any
	Properties  map[string]described
	Items       *described
	AnyOf       []described
}

// made: it is of a kind that is described elsewhere, or a list of those.
func (d described) made() bool {
	return d.Ref != "" || d.Items != nil && d.Items.Ref != "" || len(d.AnyOf) > 0 && d.AnyOf[0].Ref != ""
}

// TestEverythingIsDescribed: each operation, parameter and field says what it is, and has an
// example, unless it is made of fields that do.
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
			RequestBody *struct{ Description string }
			Responses   map[string]struct {
				Description string
				Content     map[string]struct{ Schema *described }
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
			if op.RequestBody != nil && op.RequestBody.Description == "" {
				t.Errorf("%s %s: its body has no description", method, path)
			}
			for status, r := range op.Responses {
				if !strings.HasSuffix(r.Description, ".") { // a sentence, where huma has the name of the status
					t.Errorf("%s %s: response %s: description %q", method, path, status, r.Description)
				}
				for kind, content := range r.Content {
					if content.Schema == nil || content.Schema.nullableList() {
						t.Errorf("%s %s: response %s: %s is %+v", method, path, status, kind, content.Schema)
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
		t.Error("a plugin's details are not described with what a list of plugins has")
	}
}

func (d described) nullableList() bool {
	types, _ := d.Type.([]any)
	return slices.Contains(types, any("array")) && slices.Contains(types, any("null"))
}
