package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/feature"
)

// TestPlugins tests rows P48, P58 and P59 of docs/protocols/python.md, and the answers to bad
// input.
func TestPlugins(t *testing.T) {
	const save = `{"name":"footer","content":"@on_final\nasync def f(ctx, text): return text"}`
	t.Run("while the flag is off, nothing is changed", func(t *testing.T) {
		s := serve(t, Options{})
		s.sources.put(Source{Name: "logger", Content: "text"})
		for _, r := range []reply{s.do("POST", "/plugin/save", save), s.do("DELETE", "/plugin/logger", ""), s.do("POST", "/plugin/logger/reload", "")} {
			r.wants(t, 503, `{"detail":"Plugins feature is not enabled. Enable it in settings."}`)
		}
		s.do("GET", "/plugin/list", "").wants(t, 200,
			`{"plugins":[{"name":"logger","hooks":[],"metadata":{},"error":null}],"feature_enabled":false}`)
		s.do("GET", "/plugin/logger", "").wants(t, 200, `{"name":"logger","path":"","hooks":[],"metadata":{},"content":"text"}`)
		s.do("POST", "/plugin/validate", save).wants(t, 200,
			`{"name":"footer","hooks":["on_final"],"metadata":{"api":"1.0","name":"footer"}}`)
	})
	t.Run("while the flag is on, save creates and replaces a plugin", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("POST", "/feature/plugins/enable", "")
		for range 2 {
			s.do("POST", "/plugin/save", save).wants(t, 200, `{"name":"footer","path":"/Users/user/.agent/plugins/footer.py"}`)
		}
		s.do("DELETE", "/plugin/footer", "").wants(t, 200, `{"deleted":"footer"}`)
		s.do("DELETE", "/plugin/footer", "").wants(t, 404, `{"detail":"Plugin not found: footer"}`)
	})
	t.Run("an unknown plugin is 404, with its name", func(t *testing.T) {
		s := serve(t, Options{})
		s.features.on[feature.Plugins] = true
		s.do("GET", "/plugin/nope", "").wants(t, 404, `{"detail":"Plugin not found: nope"}`)
		s.do("POST", "/plugin/nope/reload", "").wants(t, 404, `{"detail":"Plugin not found: nope"}`)
	})
	t.Run("invalid code is 400, with the reason", func(t *testing.T) {
		s := serve(t, Options{})
		s.features.on[feature.Plugins] = true
		for _, path := range []string{"/plugin/save", "/plugin/validate"} {
			s.do("POST", path, `{"name":"x","content":"def f("}`).wants(t, 400,
				`{"detail":"Invalid plugin code: SyntaxError: '(' was never closed"}`)
		}
	})
	t.Run("a plugin that does not load is shown with its error", func(t *testing.T) {
		s := serve(t, Options{})
		s.sources.put(Source{Name: "bad", Content: "def f(", Error: "SyntaxError: line 1"})
		s.do("GET", "/plugin/list", "").wants(t, 200,
			`{"plugins":[{"name":"bad","hooks":[],"metadata":{},"error":"SyntaxError: line 1"}],"feature_enabled":false}`)
		s.do("GET", "/plugin/bad", "").wants(t, 200,
			`{"name":"bad","path":"","hooks":[],"metadata":{"error":"SyntaxError: line 1"},"content":"def f("}`)
	})
	t.Run("without a store of flags nothing can be changed", func(t *testing.T) {
		b := newFake().backend()
		b.Features = nil
		serve(t, Options{Backend: b}).do("POST", "/plugin/save", save).wants(t, 503, `{"detail":"`+detailFeatureOff+`"}`)
	})
}

func TestNamesDoNotEscape(t *testing.T) {
	s := serve(t, Options{})
	s.features.on[feature.Plugins] = true
	long := strings.Repeat("a", 65)
	for _, name := range []string{"..%2f..%2fetc%2fpasswd", "%2e%2e%2fx", "..%5cx", "a%00b", "%00", "-x", "a.py", "a%2fb", "%c3%a9", long, "a%0ab", "%20"} {
		for _, c := range []call{{"GET", "/plugin/" + name}, {"DELETE", "/plugin/" + name}, {"POST", "/plugin/" + name + "/reload"}} {
			s.do(c.method, c.path, "").wantsDetail(t, 400, "Invalid plugin name: ")
		}
	}
	for _, name := range []string{"../x", "..", ".", "", "a/b", "a\\b", "a\x00b", "é", "a b", long, "a\n"} {
		body, err := json.Marshal(map[string]string{"name": name, "content": "pass"})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/plugin/save", "/plugin/validate"} {
			s.do("POST", path, string(body)).wantsDetail(t, 400, "Invalid plugin name: ")
		}
	}
	if got := s.do("GET", "/plugin/"+strings.Repeat("a", 5000), ""); got.status != 400 || len(got.body) > 300 {
		t.Errorf("a long name: %d and %d bytes", got.status, len(got.body))
	}
	if got := s.do("GET", "/plugin/../plugin/list", ""); got.status != http.StatusTemporaryRedirect || got.header.Get("Location") != "/plugin/list" {
		t.Errorf("%d to %q", got.status, got.header.Get("Location"))
	}
}

func TestFeatures(t *testing.T) {
	s := serve(t, Options{})
	flag := func(enabled string) string {
		return `{"name":"plugins","description":"Enable plugin system for agent customization","stage":"experimental",` +
			`"default":false,"enabled":` + enabled + `}`
	}
	s.do("GET", "/features", "").wants(t, 200, "["+flag("false")+"]")
	s.do("POST", "/feature/plugins/enable", "").wants(t, 200, flag("true"))
	s.do("GET", "/features/plugins", "").wants(t, 200, flag("true"))
	s.do("POST", "/feature/plugins/disable", "").wants(t, 200, flag("false"))
	for _, r := range []reply{s.do("GET", "/features/nope", ""), s.do("POST", "/feature/nope/enable", "")} {
		r.wants(t, 404, `{"detail":"Feature not found: nope"}`)
	}
}

func TestSessions(t *testing.T) {
	for _, prefix := range []string{"/session", "/v1/sessions"} {
		t.Run(prefix, func(t *testing.T) {
			s := serve(t, Options{})
			s.sources.put(Source{Name: "logger"})
			session := func(plugins, title string) string {
				return `{"id":"ses_a","plugins":` + plugins + `,"working_dir":"/src","created_at":"2026-01-02T03:04:05Z","title":"` + title + `"}`
			}
			one := prefix + "/ses_a"
			s.do("GET", prefix, "").wants(t, 200, `[]`)
			s.do("POST", prefix, `{"plugin":["logger"]}`).wantsDetail(t, 422, "body.plugin: unexpected property")
			s.do("GET", prefix, "").wants(t, 200, `[]`)
			s.do("POST", prefix, `{"working_dir":"/src","title":"a"}`).wants(t, 200, session("[]", "a"))
			s.do("PATCH", one, `{"plugin":["logger"]}`).wantsDetail(t, 422, "body.plugin: unexpected property")
			s.do("POST", one+"/message", `{"text":"hi","plugins":[]}`).wantsDetail(t, 422, "body.plugins: unexpected property")
			s.do("PATCH", one, `{"plugins":["logger"]}`).wants(t, 200, session(`["logger"]`, "a"))
			s.do("PATCH", one, `{"title":"b"}`).wants(t, 200, session(`["logger"]`, "b"))
			s.do("PATCH", one, `{"plugins":[]}`).wants(t, 200, session(`[]`, "b"))
			s.do("GET", prefix, "").wants(t, 200, "["+session(`[]`, "b")+"]")
			s.do("POST", one+"/message", `{"text":"hi"}`).wants(t, 200,
				`{"error":null,"session_id":"ses_a","skipped":false,"text":"echo: hi","tools":[]}`)
			s.do("POST", one+"/interrupt", "").wants(t, 200, `{"interrupted":false}`)
			s.do("DELETE", one, "").wants(t, 200, `{"deleted":"ses_a"}`)
			for _, r := range []reply{s.do("GET", one, ""), s.do("PATCH", one, "{}"), s.do("DELETE", one, ""),
				s.do("POST", one+"/message", `{"text":"hi"}`), s.do("POST", one+"/interrupt", "")} {
				r.wants(t, 404, `{"detail":"Session not found"}`)
			}
		})
	}
	for _, prefix := range []string{"/session", "/v1/sessions"} {
		t.Run(prefix+" is listed by pages", func(t *testing.T) {
			s := serve(t, Options{})
			for range 3 {
				s.do("POST", prefix, "")
			}
			first := s.do("GET", prefix+"?limit=2", "")
			wantIDs(t, first, "ses_c", "ses_b")
			if next, link := first.header.Get("Next-Page"), first.header.Get("Link"); next != "ses_b" ||
				link != "<"+prefix+`?after=ses_b&limit=2>; rel="next"` {
				t.Errorf("next %q, link %q", next, link)
			}
			second := s.do("GET", prefix+"?limit=2&after=ses_b", "")
			wantIDs(t, second, "ses_a")
			wantIDs(t, s.do("GET", prefix+"?after=ses_c", ""), "ses_b", "ses_a")
			for _, name := range []string{"Next-Page", "Link"} {
				if _, there := second.header[name]; there {
					t.Errorf("the last page has a header %s", name)
				}
			}
			s.do("GET", prefix+"?after=nowhere", "").wantsDetail(t, 400, "after: not a cursor of this list")
			for _, bad := range []string{"0", "-1", "1001", "many"} {
				s.do("GET", prefix+"?limit="+bad, "").wantsDetail(t, 422, "limit")
			}
		})
	}
	t.Run("unknown plugins are refused by name", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("POST", "/session", "")
		for _, r := range []reply{s.do("POST", "/session", `{"plugins":["a","b"]}`), s.do("PATCH", "/session/ses_a", `{"plugins":["a","b"]}`)} {
			r.wants(t, 400, `{"detail":"Unknown plugins: a, b"}`)
		}
	})
	t.Run("a transcript is a list of entries", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("POST", "/session", "")
		s.do("GET", "/v1/sessions/ses_a/transcript", "").wants(t, 200,
			`[{"seq":1,"time":"0001-01-01T00:00:00Z","turn":"t1","message":{"role":"user","content":"hello"}}]`)
	})
	t.Run("a message must say something", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("POST", "/session", "")
		s.do("POST", "/session/ses_a/message", `{"text":""}`).wantsDetail(t, 422, "body.text")
		s.do("POST", "/session/ses_a/message", `{}`).wantsDetail(t, 422, "text")
		s.do("POST", "/session/ses_a/message", ``).wantsDetail(t, 400, "body is required")
		s.do("POST", "/session/ses_a/message", `{"text":7}`).wantsDetail(t, 422, "body.text: expected string")
		s.do("POST", "/session/ses_a/message", `{"text":`).wantsDetail(t, 400, "body: unexpected end of JSON input")
	})
	t.Run("a busy session is a conflict", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("POST", "/session", "")
		s.do("POST", "/session/ses_a/message", `{"text":"busy"}`).wantsDetail(t, 409, "a turn is running (pid 7)")
	})
}

func TestRecording(t *testing.T) {
	s := serve(t, Options{})
	for turn, name := range map[string]string{"turn_1": "turn_1.trace", "a%22%0d%0aX%3A%20..%2F%C3%A4": "a---X------.trace", "..": "turn.trace", strings.Repeat("x", 256): strings.Repeat("x", 64) + ".trace"} {
		got := s.do("GET", "/v1/recording?session=ses_a&turn="+turn, "")
		if got.status != 200 || !strings.HasPrefix(got.body, "ses_a ") || got.header.Get("Content-Type") != "application/x-ndjson" ||
			got.header.Get("Content-Disposition") != `attachment; filename="`+name+`"` {
			t.Errorf("%.40s: %d %q %v", turn, got.status, got.body, got.header)
		}
	}
	none := s.do("GET", "/v1/recording?session=ses_a&turn=none", "")
	none.wantsDetail(t, 404, "Turn not found")
	if none.header.Get("Content-Disposition") != "" {
		t.Error("a problem is saved as a file")
	}
	for _, query := range []string{"", "?session=ses_a", "?turn=t", "?session=&turn=t", "?session=s&turn=" + strings.Repeat("x", 257)} {
		s.do("GET", "/v1/recording"+query, "").wantsDetail(t, 422, "query.")
	}
	resp, err := s.client.Do(s.request("GET", "/v1/recording?session=ses_a&turn=torn", ""))
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(s.log.String(), "the disk is gone") {
		t.Errorf("an incomplete recording looks complete: %v, log %s", err, s.log)
	}
}

func TestInspect(t *testing.T) {
	s := serve(t, Options{})
	s.do("GET", "/v1/plugins", "").wants(t, 200, `[{"dialect":"scaffold","name":"git-context"}]`)
	s.do("GET", "/v1/plugins/git-context", "").wants(t, 200, `{"name":"git-context"}`)
	s.do("GET", "/v1/plugins/nope", "").wants(t, 404, `{"detail":"Plugin not found: nope"}`)
	s.do("GET", "/v1/tools", "").wants(t, 200, `[{"name":"git.log"}]`)
	for query, want := range map[string]TraceFilter{"": {Page: Page{Limit: 50}},
		"?session=ses_a&turn=t1&limit=7&after=abc": {Session: "ses_a", Turn: "t1", Page: Page{Limit: 7, After: "abc"}}} {
		s.do("GET", "/v1/traces"+query, "").wants(t, 200, `{"traces":[]}`)
		if s.inspect.asked != want {
			t.Errorf("%q asks for %+v", query, s.inspect.asked)
		}
	}
	s.do("GET", "/v1/traces?limit=0", "").wantsDetail(t, 422, "query.limit")
	s.do("GET", "/v1/health", "").wants(t, 200, `{"ok":true}`)
	s.inspect.ok = false
	s.do("GET", "/v1/health", "").wants(t, 503, `{"ok":false}`)
}

func TestCalls(t *testing.T) {
	s := serve(t, Options{})
	s.do("POST", "/v1/tools/git.log/call", `{"arguments":{"n": 1}}`).wants(t, 200,
		`{"tool":"git.log","success":true,"result":"{\"n\": 1}","error":null}`)
	s.do("POST", "/v1/tools/git.log/call", "").wants(t, 200, `{"tool":"git.log","success":true,"result":"{}","error":null}`)
	s.do("POST", "/v1/tools/git.log/call", `{"arguments":[1]}`).wantsDetail(t, 422, "body.arguments: expected object")
	s.do("POST", "/v1/tools/git.log/call", `{"arguments":{"n":1},"trace":true}`).wants(t, 200,
		`{"tool":"git.log","success":false,"result":"","error":null,"step":{"plugin":"git","dialect":"","hook":"","verdict":"","changed":false,"duration_us":0,"error":null,"sent":{"n":1}}}`)
	s.do("POST", "/v1/tools/git.log/call", `{"trace":1}`).wantsDetail(t, 422, "body.trace")
	s.do("POST", "/v1/tools/nope/call", "").wants(t, 404, `{"detail":"Tool not found: nope"}`)
	s.do("POST", "/v1/fire", `{"point":"turn.input","data":{"message":"hi"},"trace":true}`).wants(t, 200,
		`{"point":"turn.input","verdict":"deny","reason":"","suggest":"","by":"traced","payload":{"message":"hi"},"steps":[]}`)
	s.do("POST", "/v1/fire", `{"point":"turn.imput"}`).wantsDetail(t, 400, `Unknown point: "turn.imput"`)
	s.do("POST", "/v1/fire", `{"point":"turn.input","data":"x"}`).wantsDetail(t, 422, "body.data: expected object")
	s.do("POST", "/v1/fire", `{"point":"turn.input","dat":{}}`).wantsDetail(t, 422, "body.dat: unexpected property")
}

func TestProblems(t *testing.T) {
	t.Run("an unknown route is 404", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("GET", "/v1/nope", "").wants(t, 404, `{"detail":"Not found: /v1/nope"}`)
		s.do("POST", "/nope", "").wants(t, 404, `{"detail":"Not found: /nope"}`)
	})
	t.Run("the wrong method names the right ones", func(t *testing.T) {
		got := serve(t, Options{}).do("PUT", "/features", "")
		got.wantsDetail(t, 405, "GET, HEAD")
		if allow := got.header.Get("Allow"); allow != "GET, HEAD" {
			t.Errorf("Allow: %q", allow)
		}
	})
	t.Run("a panic is logged, not shown", func(t *testing.T) {
		s := serve(t, Options{})
		got := s.do("GET", "/v1/doctor", "")
		got.wants(t, 500, `{"detail":"`+detailInternal+`"}`)
		if log := s.log.String(); !strings.Contains(log, "hunter2") || !strings.Contains(log, "fakeInspect") {
			t.Errorf("the log has neither reason nor stack: %s", log)
		}
	})
	t.Run("an unexpected error is internal", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("POST", "/session", "")
		s.do("POST", "/session/ses_a/message", `{"text":"break"}`).wants(t, 500, `{"detail":"`+detailInternal+`"}`)
		if !strings.Contains(s.log.String(), "hunter2") {
			t.Error("the log does not have the reason")
		}
	})
	t.Run("an answer that cannot be encoded is an internal error", func(t *testing.T) {
		s := serve(t, Options{})
		s.inspect.unencodable = true
		s.do("GET", "/v1/tools", "").wants(t, 500, `{"detail":"`+detailInternal+`"}`)
	})
	t.Run("a request with a thousand faults gets a short answer", func(t *testing.T) {
		s := serve(t, Options{})
		got := s.do("POST", "/session", `{"plugins":[`+strings.Repeat("1,", 999)+`1]}`)
		got.wantsDetail(t, 422, "992 more")
	})
	t.Run("requests are logged at debug", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("GET", "/features?secret=hunter2", "")
		if log := s.log.String(); !strings.Contains(log, "path=/features") || strings.Contains(log, "hunter2") {
			t.Error(log)
		}
	})
}

func TestPages(t *testing.T) {
	t.Run("without web pages, the first page lists the routes", func(t *testing.T) {
		s := serve(t, Options{})
		got := s.do("GET", "/", "")
		if got.status != 200 || !strings.Contains(got.body, `<a href="/v1/plugins">`) || strings.Contains(got.body, "http:") || strings.Contains(got.body, "https:") {
			t.Errorf("%d %s", got.status, got.body)
		}
		if csp := got.header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("policy %q", csp)
		}
	})
	t.Run("web pages answer at all paths outside of the API", func(t *testing.T) {
		web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) })
		s := serve(t, Options{Web: web})
		for _, path := range []string{"/", "/plugins/logger", "/assets/app.js"} {
			if got := s.do("GET", path, ""); got.status != 200 || got.body != "page "+path || got.header.Get("Content-Security-Policy") != webPolicy ||
				got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Referrer-Policy") != "same-origin" {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
		s.do("GET", "/v1/nope", "").wantsDetail(t, 404, "/v1/nope")
		s.do("POST", "/plugins", "").wantsDetail(t, 404, "/plugins")
		s.do("PUT", "/features", "").wantsDetail(t, 405, "GET, HEAD")
	})
	t.Run("the handler in Options answers /metrics", func(t *testing.T) {
		metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
		if got := serve(t, Options{Metrics: metrics}).do("GET", "/metrics", ""); got.status != 200 || got.body != "up 1\n" {
			t.Errorf("%d %s", got.status, got.body)
		}
		serve(t, Options{}).do("GET", "/metrics", "").wantsDetail(t, 404, "/metrics")
	})
	t.Run("browsers neither guess the type of an answer nor store it", func(t *testing.T) {
		got := serve(t, Options{}).do("GET", "/features", "")
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %q", name, got.header.Get(name))
			}
		}
	})
}

// wantIDs expects a list of sessions.
func wantIDs(t *testing.T, r reply, want ...string) {
	t.Helper()
	var list []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || r.status != 200 {
		t.Fatalf("got %d %s, %v", r.status, r.body, err)
	}
	var ids []string
	for _, one := range list {
		ids = append(ids, one.ID)
	}
	if !slices.Equal(ids, want) {
		t.Errorf("got %v, want %v", ids, want)
	}
}
