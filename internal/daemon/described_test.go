package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
)

// A describedAPI is /openapi.json, as far as the tests check it.
type describedAPI struct {
	Servers    []struct{ URL string }
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]describedRoute
	Components struct{ Schemas map[string]schema }
}

type describedRoute struct {
	Description, Summary string
	Tags                 []string
	Parameters           []struct {
		Name, In, Description string
		Example               json.RawMessage
		Schema                schema
	}
	RequestBody *struct {
		Description string
		Content     map[string]media
	}
	Responses map[string]struct {
		Description string
		Content     map[string]media
	}
}

// A media is a request or an answer in one media type.
type media struct {
	Schema  *schema
	Example any
}

// A schema is a JSON Schema, as far as the document uses it.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 oneOrMore
	Description          string
	Examples             []json.RawMessage
	Example              json.RawMessage
	Enum                 []any
	Properties           map[string]schema
	AdditionalProperties otherFields
	Required             []string
	Items                *schema
	AnyOf                []schema
}

// oneOrMore is a list of texts. In JSON a list with one text is the text.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(o))
	}
	*o = make([]string, 1)
	return json.Unmarshal(text, &(*o)[0])
}

// otherFields says which fields an object may have that its schema does not list.
type otherFields struct {
	forbidden bool
	each      *schema // nil: any
}

func (o *otherFields) UnmarshalJSON(text []byte) error {
	if o.forbidden = bytes.Equal(text, []byte("false")); text[0] != '{' {
		return nil
	}
	return json.Unmarshal(text, &o.each)
}

// made reports whether the value has its own schema, or is a list of such values.
func (s *schema) made() bool {
	return s.Ref != "" || s.Items != nil && s.Items.Ref != "" || len(s.AnyOf) > 0 && s.AnyOf[0].Ref != ""
}

func (s *schema) nullable() bool {
	return slices.Contains(s.Type, "null") || slices.ContainsFunc(s.AnyOf, func(one schema) bool { return one.nullable() })
}

// wholeAPI returns the document of a daemon with every route there is.
func wholeAPI(t *testing.T) *describedAPI {
	t.Helper()
	backend := newTestHome(t).open("").backend()
	backend.Yielder = new(hookDaemon)
	server := httptest.NewServer(httpapi.New(httpapi.Options{Backend: backend, Metrics: http.NotFoundHandler()}))
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	doc := new(describedAPI)
	if err := json.NewDecoder(resp.Body).Decode(doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// schemaOf returns a schema, or the one to which it refers.
func (d *describedAPI) schemaOf(s *schema) *schema {
	if s.Ref == "" {
		return s
	}
	found := d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	return &found
}

// misfits lists where a value does not fit a schema. A field that the schema does not list is a
// misfit even if the schema allows others.
func (d *describedAPI) misfits(at string, v any, s *schema) []string {
	s = d.schemaOf(s)
	if len(s.AnyOf) > 0 {
		if v == nil && s.nullable() {
			return nil
		}
		return d.misfits(at, v, &s.AnyOf[0])
	}
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(want string) bool { return isOf(v, want) }) {
		return []string{fmt.Sprintf("%s is %.40v, and should be %v", at, v, s.Type)}
	}
	if len(s.Enum) > 0 && v != nil && !slices.Contains(s.Enum, v) {
		return []string{fmt.Sprintf("%s is %q, and should be one of %q", at, v, s.Enum)}
	}
	var out []string
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if s.Items != nil {
				out = append(out, d.misfits(at+"[]", item, s.Items)...)
			}
		}
	case map[string]any:
		out = d.misfitsOf(at, v, s)
	}
	return out
}

// misfitsOf lists the fields that do not fit a schema.
func (d *describedAPI) misfitsOf(at string, v map[string]any, s *schema) []string {
	var out []string
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			out = append(out, at+" has no "+name)
		}
	}
	for name, value := range v {
		field, known := s.Properties[name]
		switch {
		case known:
			out = append(out, d.misfits(at+"."+name, value, &field)...)
		case s.AdditionalProperties.each != nil:
			out = append(out, d.misfits(at+"."+name, value, s.AdditionalProperties.each)...)
		case s.AdditionalProperties.forbidden || len(s.Properties) > 0:
			out = append(out, at+"."+name+" is not described")
		}
	}
	return out
}

// isOf reports whether a value has a type, in the words of JSON Schema.
func isOf(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case []any:
		return want == "array"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	}
	return want == "object"
}

// TestEverythingIsDescribed: each operation, parameter and field says what it is. Each has an
// example. The examples of requests and answers fit their schemas.
func TestEverythingIsDescribed(t *testing.T) {
	doc := wholeAPI(t)
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
		for method, route := range methods {
			where := method + " " + path
			if route.Description == "" || len(route.Tags) != 1 || !slices.Contains(known, route.Tags[0]) {
				t.Errorf("%s: description %q, tags %q", where, route.Description, route.Tags)
			}
			for _, p := range route.Parameters {
				if p.Description == "" || p.Example == nil && p.Schema.Examples == nil {
					t.Errorf("%s: parameter %s: description %q, example %s", where, p.Name, p.Description, p.Example)
				}
			}
			doc.checkBodies(t, where, &route)
		}
	}
	doc.checkSchemas(t)
}

// checkBodies checks the descriptions and the examples of a route's request and answers.
func (d *describedAPI) checkBodies(t *testing.T, where string, route *describedRoute) {
	t.Helper()
	check := func(where string, content map[string]media) {
		for kind, m := range content {
			if m.Schema == nil || m.Example == nil || m.Schema.nullable() {
				t.Errorf("%s, %s: schema %+v, example %v", where, kind, m.Schema, m.Example)
				continue
			}
			if len(m.Schema.Type) == 0 && m.Schema.Ref == "" {
				t.Errorf("%s, %s: its schema allows everything", where, kind)
			}
			for _, misfit := range d.misfits("the example", m.Example, m.Schema) {
				t.Errorf("%s, %s: %s", where, kind, misfit)
			}
		}
	}
	if r := route.RequestBody; r != nil {
		if r.Description == "" {
			t.Errorf("%s: its body has no description", where)
		}
		check(where+": request", r.Content)
	}
	for status, r := range route.Responses {
		if !strings.HasSuffix(r.Description, ".") { // a sentence; the default of huma is the name of the status
			t.Errorf("%s: response %s: description %q", where, status, r.Description)
		}
		if len(r.Content) == 0 {
			t.Errorf("%s: response %s: no content", where, status)
		}
		check(where+": response "+status, r.Content)
	}
}

// nullLists are the lists and objects in answers that may be null. Others are empty, or absent.
var nullLists = []string{"Compaction.messages", "DaemonStatus.next_run", "JobInfo.last_run", "JobRun.attempts", "Knob.labels", "Knob.values", "PluginDetail.manifest"}

// checkSchemas checks the descriptions and examples of all fields, and which of them may be null.
func (d *describedAPI) checkSchemas(t *testing.T) {
	t.Helper()
	var null []string
	for name, s := range d.Components.Schemas {
		if s.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field, p := range s.Properties {
			if p.Description == "" || !p.made() && p.Examples == nil && p.Example == nil {
				t.Errorf("%s.%s: description %q, examples %s", name, field, p.Description, p.Examples)
			}
			if p.nullable() && (slices.Contains(p.Type, "array") || len(p.AnyOf) > 0) && !strings.HasSuffix(name, "Body") {
				null = append(null, name+"."+field)
			}
			for _, example := range p.Examples {
				d.checkExample(t, name+"."+field, example, &p)
			}
		}
	}
	if slices.Sort(null); !slices.Equal(null, nullLists) {
		t.Errorf("these lists and objects may be null: %q\nwant %q", null, nullLists)
	}
	if p := d.Components.Schemas["PluginDetail"].Properties; !slices.Equal(p["name"].Type, []string{"string"}) || !slices.Equal(p["wiring"].Type, []string{"array"}) {
		t.Error("PluginDetail does not have the fields of Plugin")
	}
}

func (d *describedAPI) checkExample(t *testing.T, where string, example json.RawMessage, s *schema) {
	t.Helper()
	var v any
	if err := json.Unmarshal(example, &v); err != nil {
		t.Fatal(err)
	}
	if v == "null" {
		t.Errorf("%s: the example is the word null", where)
	}
	for _, misfit := range d.misfits("the example", v, s) {
		t.Errorf("%s: %s", where, misfit)
	}
}

// TestOnlyAnswersMayGrow: a field that is not described is an error in a request, and allowed in an
// answer.
func TestOnlyAnswersMayGrow(t *testing.T) {
	for name, s := range wholeAPI(t).Components.Schemas {
		request := strings.HasSuffix(name, "Body") || strings.HasSuffix(name, "Request") || name == "ConfigChange"
		if s.AdditionalProperties.forbidden != request {
			t.Errorf("%s: other fields are forbidden: %t", name, s.AdditionalProperties.forbidden)
		}
	}
}
