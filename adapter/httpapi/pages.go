package httpapi

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

const (
	// webPolicy is the policy of the web pages: scripts, styles and requests only from this server,
	// nothing inline, and no frames in other pages. Styles may contain images.
	webPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// indexPolicy is the policy of the page of routes, which has only a style.
	indexPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// addPages adds the OpenAPI document, and a page that lists the routes and loads nothing. That page
// is also the home page if there are no web pages.
func (a *api) addPages(o *Options) {
	document := sync.OnceValues(func() ([]byte, error) { return description(o) })
	a.mux.HandleFunc("GET "+descriptionPath, func(w http.ResponseWriter, _ *http.Request) {
		text, err := document()
		if err != nil {
			a.problem(err, "openapi").write(w)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text) // an error means that the client is gone
	})
	a.mux.HandleFunc("GET /docs", a.index)
	if o.Web == nil {
		a.mux.HandleFunc("GET /{$}", a.index)
	}
}

// describe adds a route only to the description.
func (a *api) describe(r route, contentType string) {
	a.routes = append(a.routes, r)
	op := a.operation(r)
	op.Responses["200"].Content[contentType] = &huma.MediaType{}
	a.huma.OpenAPI().AddOperation(&op)
}

// index answers with the page of routes.
func (a *api) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", indexPolicy)
	var page bytes.Buffer
	page.WriteString(indexHead)
	for _, r := range a.routes {
		path := "<code>" + html.EscapeString(r.path) + "</code>"
		if r.isLink() {
			path = `<a href="` + html.EscapeString(r.path) + `">` + path + "</a>"
		}
		fmt.Fprintf(&page, "<tr><td><code>%s</code><td>%s<td>%s\n", html.EscapeString(r.method), path, html.EscapeString(r.summary))
	}
	page.WriteString("</table>\n</html>\n")
	_, _ = w.Write(page.Bytes()) // an error means that the client is gone
}

// isLink reports whether a person can open the route in a browser: it is a GET without parameters
// in its path.
func (r route) isLink() bool { return r.method == http.MethodGet && !strings.Contains(r.path, "{") }

// indexHead is the beginning of the page of routes. It is not a template: see
// docs/decisions/0017-what-the-linker-drops.md.
const indexHead = `<!doctype html>
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
<p>The daemon is running. Its whole API: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
<table>
`
