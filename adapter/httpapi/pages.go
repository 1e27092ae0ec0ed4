package httpapi

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

const (
	// webPolicy is for the web pages: they are whole in themselves, and no other page may frame them.
	webPolicy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
	// indexPolicy is for the page below, which has a style and nothing else.
	indexPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// addPages adds what is no route of the API's own: its description, for programs
// and for people. The page loads nothing from anywhere.
func (a *api) addPages(home bool) error {
	a.describe(route{method: "GET", path: "/openapi.json", id: "openapi", tag: "inspect", summary: "Describe this API"},
		"application/openapi+json")
	text, err := a.description()
	if err != nil {
		return err
	}
	page, err := a.index()
	if err != nil {
		return err
	}
	a.mux.HandleFunc("GET /openapi.json", fixed("application/openapi+json", text))
	a.mux.HandleFunc("GET /docs", fixed("text/html; charset=utf-8", page))
	if home {
		a.mux.HandleFunc("GET /{$}", fixed("text/html; charset=utf-8", page))
	}
	return nil
}

// addMetrics adds a route that is not huma's.
func (a *api) addMetrics(metrics http.Handler) {
	a.mux.Handle("GET /metrics", metrics)
	a.describe(route{method: "GET", path: "/metrics", id: "metrics", tag: "inspect", summary: "Metrics, as Prometheus reads them"},
		"text/plain")
}

// describe adds a route to the description alone.
func (a *api) describe(r route, contentType string) {
	a.routes = append(a.routes, r)
	op := a.operation(r)
	op.Responses["200"].Content[contentType] = &huma.MediaType{}
	a.huma.OpenAPI().AddOperation(&op)
}

func fixed(contentType string, text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if strings.HasPrefix(contentType, "text/html") {
			w.Header().Set("Content-Security-Policy", indexPolicy)
		}
		_, _ = w.Write(text) // a client that is gone misses nothing
	}
}

// index is the page of routes.
func (a *api) index() ([]byte, error) {
	var page bytes.Buffer
	if err := indexPage.Execute(&page, a.routes); err != nil {
		return nil, fmt.Errorf("make the page of routes: %w", err)
	}
	return page.Bytes(), nil
}

// Method is for the page, as are Path and Summary: a template sees nothing that is not exported.
func (r route) Method() string { return r.method }

// Path is for the page.
func (r route) Path() string { return r.path }

// Summary is for the page.
func (r route) Summary() string { return r.summary }

// Link is whether a person can follow it: there is nothing to fill in.
func (r route) Link() bool { return r.method == http.MethodGet && !strings.Contains(r.path, "{") }

var indexPage = template.Must(template.New("index").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Patchbay</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
td { padding: .25rem .75rem .25rem 0; vertical-align: top; border-bottom: 1px solid #8884 }
code { font-family: ui-monospace, monospace }
</style>
<h1>Patchbay</h1>
<p>The daemon is running. Its API, in full: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
<table>
{{range .}}<tr><td><code>{{.Method}}</code><td>{{if .Link}}<a href="{{.Path}}"><code>{{.Path}}</code></a>{{else}}<code>{{.Path}}</code>{{end}}<td>{{.Summary}}
{{end}}</table>
</html>
`))
