package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// built is a page in the form that Vite builds.
var built = fstest.MapFS{
	"index.html":           {Data: []byte("<!doctype html>page")},
	"favicon.svg":          {Data: []byte("<svg/>")},
	"assets/index-1a2b.js": {Data: []byte("let a = 1")},
	"assets/deep/x.js":     {Data: []byte("no")},
}

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAddressesOfThePage(t *testing.T) {
	h := newPages(built)
	for _, path := range []string{"/", "/plugins", "/plugins/words", "/plugins/a%2Fb", "/trace", "/trace/ses_1/turn_2", "/trace/event/17", "/pipeline",
		"/try", "/try/tool/plugin_words_count", "/try/point/tool.before", "/python", "/python/greet", "/chat", "/chat/ses_1", "/jobs", "/jobs/disk",
		"/runs/disk/daily/20261116T060000Z", "/doctor"} {
		got := get(h, path)
		if got.Code != 200 || got.Body.String() != "<!doctype html>page" || got.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
			got.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v %s", path, got.Code, got.Header(), got.Body)
		}
	}
}

func TestFilesOfThePage(t *testing.T) {
	h := newPages(built)
	got := get(h, "/assets/index-1a2b.js")
	if got.Code != 200 || got.Body.String() != "let a = 1" || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/javascript") ||
		!strings.Contains(got.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	if again := get(h, "/assets/index-1a2b.js", "If-None-Match", got.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("again: %d %s", again.Code, again.Body)
	}
	if icon := get(h, "/favicon.svg"); icon.Code != 200 || icon.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("icon: %d %v", icon.Code, icon.Header())
	}
}

func TestFilesAreCompressed(t *testing.T) {
	long := strings.Repeat("let a = 1\n", 1000)
	h := newPages(fstest.MapFS{"assets/long-1a2b.js": {Data: []byte(long)}, "icon.png": {Data: []byte(long)}})
	got := get(h, "/assets/long-1a2b.js", "Accept-Encoding", "br, gzip, deflate")
	if got.Header().Get("Content-Encoding") != "gzip" || got.Header().Get("Vary") != "Accept-Encoding" || got.Body.Len() > len(long)/10 {
		t.Errorf("%v, %d bytes", got.Header(), got.Body.Len())
	}
	unzip, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unzip); err != nil || string(text) != long {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	again := get(h, "/assets/long-1a2b.js", "Accept-Encoding", "gzip", "If-None-Match", got.Header().Get("ETag"))
	if again.Code != http.StatusNotModified {
		t.Errorf("again: %d", again.Code)
	}
	for _, c := range []struct{ path, accept string }{
		{"/assets/long-1a2b.js", ""}, {"/assets/long-1a2b.js", "br"}, {"/assets/long-1a2b.js", "gzip; q=0, br"}, {"/assets/long-1a2b.js", "gzip;q=0.000"}, {"/icon.png", "gzip"},
	} {
		plain := get(h, c.path, "Accept-Encoding", c.accept)
		if plain.Header().Get("Content-Encoding") != "" || plain.Body.String() != long || plain.Header().Get("ETag") == got.Header().Get("ETag") {
			t.Errorf("%s for %q: %v, %d bytes", c.path, c.accept, plain.Header(), plain.Body.Len())
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	h := newPages(built)
	for _, path := range []string{"/nope", "/plugins/a/b", "/assets/", "/assets", "/assets/nope.js", "/assets/deep/y.js", "/trace/x", "/..%2f..%2fetc%2fpasswd", "/plugins/"} {
		if got := get(h, path); got.Code != 404 || got.Body.String() != `{"detail":"Not found"}`+"\n" || got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", path, got.Code, got.Header(), got.Body)
		}
		if got := get(h, path, "Accept", "text/html,*/*"); got.Code != 404 || got.Body.String() != "<!doctype html>page" {
			t.Errorf("%s for a person: %d %s", path, got.Code, got.Body)
		}
	}
}

// TestTheEmbeddedPage: the committed page can be served, and names no other host.
func TestTheEmbeddedPage(t *testing.T) {
	got := get(Handler(), "/")
	if got.Code != 200 || !strings.HasPrefix(strings.ToLower(got.Body.String()), "<!doctype html>") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, foreign := range []string{`src="http`, `href="http`, `src="//`, `href="//`, "<script>", "<style"} {
		if strings.Contains(got.Body.String(), foreign) {
			t.Errorf("index.html has %s: the policy lets nothing inline or foreign run", foreign)
		}
	}
}
