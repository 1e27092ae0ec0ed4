package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// A document holds the parts of an OpenAPI document that the tests check.
type document struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Security   []map[string][]string
	Components struct {
		Schemas         map[string]json.RawMessage
		SecuritySchemes map[string]struct{ Type, Scheme string }
	}
	Paths map[string]map[string]operation
}

type operation struct {
	OperationID string
	Summary     string
	Parameters  []struct{ Name, In string }
	RequestBody *struct {
		Content map[string]json.RawMessage
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct {
			Schema  map[string]any
			Example json.RawMessage
		}
	}
}

func fetchDocument(t *testing.T, o Options, changes ...change) (document, string) {
	t.Helper()
	got := serve(t, o).do("GET", "/openapi.json", "", changes...)
	var d document
	if err := json.Unmarshal([]byte(got.body), &d); err != nil {
		t.Fatalf("%d: %v", got.status, err)
	}
	return d, got.body
}

func TestOpenAPI(t *testing.T) {
	d, text := fetchDocument(t, Options{Version: "1.2.3", Metrics: http.NotFoundHandler()})
	if d.OpenAPI != "3.1.0" || d.Info.Version != "1.2.3" || d.Info.Title == "" {
		t.Errorf("openapi %q of %q %q", d.OpenAPI, d.Info.Title, d.Info.Version)
	}
	t.Run("every reference names a schema that exists", func(t *testing.T) {
		parts := strings.Split(text, `"$ref":"`)
		for _, part := range parts[1:] {
			ref, _, _ := strings.Cut(part, `"`)
			if _, ok := d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]; !ok {
				t.Errorf("%s names no schema", ref)
			}
		}
		if len(parts) < 20 {
			t.Errorf("only %d references", len(parts)-1)
		}
	})
	t.Run("it has every route of the protocol and of the API", func(t *testing.T) {
		for _, route := range []string{"get /plugin/list", "get /plugin/{name}", "post /plugin/save", "delete /plugin/{name}",
			"post /plugin/{name}/reload", "post /plugin/validate", "post /feature/{name}/enable", "post /feature/{name}/disable",
			"get /features", "get /features/{name}", "post /session", "get /session", "get /session/{id}", "patch /session/{id}",
			"delete /session/{id}", "post /session/{id}/message", "post /session/{id}/interrupt", "get /v1/plugins",
			"get /v1/plugins/{name}", "get /v1/tools", "post /v1/tools/{name}/call", "post /v1/fire", "get /v1/sessions",
			"get /v1/sessions/{id}/transcript", "get /v1/traces", "get /v1/events", "get /v1/doctor", "get /v1/health", "post /v1/hooks/{agent}", "get /metrics",
			"get /openapi.json"} {
			method, path, _ := strings.Cut(route, " ")
			if d.Paths[path][method].OperationID == "" {
				t.Errorf("no %s", route)
			}
		}
	})
	t.Run("routes that stream events say so", func(t *testing.T) {
		for _, op := range []operation{d.Paths["/v1/events"]["get"], d.Paths["/session/{id}/message"]["post"]} {
			if _, ok := op.Responses["200"].Content["text/event-stream"]; !ok {
				t.Errorf("%s does not say that it streams events", op.OperationID)
			}
		}
	})
	t.Run("errors are problems", func(t *testing.T) {
		if strings.Contains(text, "problem+json") || strings.Contains(text, "ErrorModel") {
			t.Error("it describes errors that no client gets")
		}
	})
	t.Run("an example of an error has a text of that status", func(t *testing.T) {
		status := make(map[string]string) // by detail
		for path, methods := range d.Paths {
			for method, op := range methods {
				for code, r := range op.Responses {
					if code < "400" {
						continue
					}
					var example struct{ Detail string }
					err := json.Unmarshal(r.Content["application/json"].Example, &example)
					if op.OperationID == "health" && code == "503" { // the same answer as with 200
						if example.Detail != "" {
							t.Errorf("the example of a daemon that is not healthy: %+v", example)
						}
						continue
					}
					if err != nil || example.Detail == "" {
						t.Errorf("%s %s: the example of %s is %+v, %v", method, path, code, example, err)
					}
					if was := status[example.Detail]; was != "" && was != code {
						t.Errorf("%s %s: the example of %s is that of %s: %q", method, path, code, was, example.Detail)
					}
					status[example.Detail] = code
				}
			}
		}
	})
	t.Run("examples name hooks that exist", func(t *testing.T) {
		for _, part := range strings.Split(text, `"hook":"`)[1:] {
			if name, _, _ := strings.Cut(part, `"`); !slices.Contains([]string{"on_session_start", "post_user_input", "pre_tool_execute"}, name) {
				t.Errorf("there is no hook %q", name)
			}
		}
	})
	checkOperations(t, d)
}

// checkOperations checks that each operation has a unique id, its path parameters, and the errors
// that every request can get.
func checkOperations(t *testing.T, d document) {
	t.Helper()
	var ids []string
	for path, methods := range d.Paths {
		for method, op := range methods {
			where := method + " " + path
			if op.Summary == "" || op.OperationID == "" || slices.Contains(ids, op.OperationID) {
				t.Errorf("%s: summary %q, id %q", where, op.Summary, op.OperationID)
			}
			ids = append(ids, op.OperationID)
			for _, status := range []string{"200", "401", "403", "500"} {
				if op.Responses[status].Description == "" {
					t.Errorf("%s: no response %s", where, status)
				}
			}
			for status, r := range op.Responses {
				ref, _ := r.Content["application/json"].Schema["$ref"].(string)
				if status >= "400" && ref != "#/components/schemas/Problem" && op.OperationID != "health" {
					t.Errorf("%s: response %s is %v", where, status, r.Content)
				}
			}
			if want := strings.Count(path, "{"); want != countPath(op) {
				t.Errorf("%s: %d of %d path parameters", where, countPath(op), want)
			}
		}
	}
}

func countPath(op operation) (n int) {
	for _, p := range op.Parameters {
		if p.In == "path" {
			n++
		}
	}
	return n
}

func TestOpenAPISecurity(t *testing.T) {
	free := func(d document) bool {
		return slices.ContainsFunc(d.Security, func(s map[string][]string) bool { return len(s) == 0 })
	}
	open, _ := fetchDocument(t, Options{})
	locked, _ := fetchDocument(t, Options{Token: config.NewSecret("open sesame")}, header("Authorization", "Bearer open sesame"))
	if !free(open) || free(locked) {
		t.Errorf("security: %v without a token, %v with one", open.Security, locked.Security)
	}
	if locked.Components.SecuritySchemes["bearer"].Scheme != "bearer" {
		t.Error("no bearer scheme")
	}
}

// TestParts: the routes of a part that is nil do not exist.
func TestParts(t *testing.T) {
	f := newFake()
	d, _ := fetchDocument(t, Options{Backend: Backend{Features: f.features}})
	for path := range d.Paths {
		if !strings.HasPrefix(path, "/feature") && path != "/openapi.json" {
			t.Errorf("%s is described, but its part is nil", path)
		}
	}
}
