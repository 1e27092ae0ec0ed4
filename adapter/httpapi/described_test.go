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
}

// TestEverythingIsDescribed: each operation, parameter and field says what it is, and has an example, unless it is made of fields
// that do.
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
		}
	}
	for name, s := range doc.Components.Schemas {
		for field, p := range s.Properties {
			if strings.HasPrefix(field, "$") {
				continue
			}
			made := p.Ref != "" || p.Items != nil && p.Items.Ref != ""
			if p.Description == "" && p.Ref == "" || !made && p.Examples == nil && p.Example == nil {
				t.Errorf("%s.%s: description %q, examples %s", name, field, p.Description, p.Examples)
			}
		}
	}
}
