package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestThePageOfRoutes(t *testing.T) {
	a := &api{routes: []route{
		{method: http.MethodGet, path: "/v1/health", summary: "How is it?"},
		{method: http.MethodGet, path: "/session/{id}", summary: "One <b>session</b> & more"},
		{method: http.MethodPost, path: "/v1/reload", summary: `Say "again"`},
	}}
	w := httptest.NewRecorder()
	a.index(w, nil)
	got := w.Body.String()
	for _, want := range []string{
		`<tr><td><code>GET</code><td><a href="/v1/health"><code>/v1/health</code></a><td>How is it?` + "\n",
		`<tr><td><code>GET</code><td><code>/session/{id}</code><td>One &lt;b&gt;session&lt;/b&gt; &amp; more` + "\n",
		`<tr><td><code>POST</code><td><code>/v1/reload</code><td>Say &#34;again&#34;` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if !strings.HasPrefix(got, "<!doctype html>\n") || !strings.HasSuffix(got, "</table>\n</html>\n") {
		t.Errorf("got\n%s", got)
	}
}
