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
	// webPolicy is for the web pages: scripts, styles and requests of this server alone, nothing
	// inline, and no other page may frame them. Images may be in the text of a style.
	webPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// indexPolicy is for the page below, which has a style and nothing else.
	indexPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// addPages adds the description of the API: the OpenAPI document, and a page for people, which
// loads nothing. The page is also the home page where there is no web page.
func (a *api) addPages(o *Options) {
	document := sync.OnceValues(func() ([]byte, error) { return description(o) })
	a.mux.HandleFunc("GET "+descriptionPath, func(w http.ResponseWriter, _ *http.Request) {
		text, err := document()
		if err != nil {
			a.problem(err, "openapi").write(w)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text) // a client that is gone misses nothing
	})
	a.mux.HandleFunc("GET /docs", a.index)
	if o.Web == nil {
		a.mux.HandleFunc("GET /{$}", a.index)
	}
}

// describe adds a route to the description alone.
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
	_, _ = w.Write(page.Bytes()) // a client that is gone misses nothing
}

// isLink is whether a person can follow the route: there is nothing to fill in.
func (r route) isLink() bool { return r.method == http.MethodGet && !strings.Contains(r.path, "{") }

// indexHead is the page before its routes. It is no template: see
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
<p>The daemon is running. Its API, in full: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
<table>
`
