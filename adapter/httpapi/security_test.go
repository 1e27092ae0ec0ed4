package httpapi

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// A call is one route of the OpenAPI document, with its parameters filled in.
type call struct {
	method, path string
}

// everyCall reads the routes from the document that is served, and adds paths that it does not
// list.
func everyCall(t *testing.T, s *server, changes ...change) []call {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(s.do("GET", "/openapi.json", "", changes...).body), &doc); err != nil {
		t.Fatal(err)
	}
	calls := []call{{"GET", "/"}, {"GET", "/plugins/logger"}, {"GET", "/assets/index.js"}, {"GET", "/docs"}, {"GET", "/nowhere"}, {"PUT", "/plugin/list"},
		{"POST", "/mcp"}, {"GET", "/mcp"}, {"DELETE", "/mcp"}}
	fill := strings.NewReplacer("{name}", "logger", "{id}", "ses_a")
	for path, methods := range doc.Paths {
		for method := range methods {
			calls = append(calls, call{strings.ToUpper(method), fill.Replace(path)})
		}
	}
	if len(calls) < 35 {
		t.Fatalf("only %d routes in the document", len(calls))
	}
	return calls
}

// TestEveryRouteRefusesStrangers: no route accepts a request that a page of another origin can
// send.
func TestEveryRouteRefusesStrangers(t *testing.T) {
	s := serve(t, Options{Backend: everyPart(), Metrics: http.NotFoundHandler(), MCP: unreached(t), Web: unreached(t)})
	calls := everyCall(t, s)
	strangers := []struct {
		rule   string
		status int
		body   string
		change change
	}{
		{"foreign origin", 403, "", header("Origin", "http://evil.example")},
		{"the origin null", 403, "", header("Origin", "null")},
		{"other port of this machine", 403, "", header("Origin", "http://127.0.0.1:1")},
		{"other scheme", 403, "", header("Origin", "https://"+s.addr)},
		{"origin that only begins like ours", 403, "", header("Origin", "http://"+s.addr+".evil.example")},
		{"two origins", 403, "", func(r *http.Request) { r.Header["Origin"] = []string{"http://" + s.addr, "http://evil.example"} }},
		{"foreign host", 403, "", host("evil.example")},
		{"foreign host with our port", 403, "", host("evil.example:" + port(s.addr))},
		{"our host with a foreign port", 403, "", host("127.0.0.1:1")},
		{"our host without a port", 403, "", host("localhost")},
		{"foreign host and its own origin", 403, "", func(r *http.Request) {
			r.Host = "evil.example:" + port(s.addr)
			r.Header.Set("Origin", "http://"+r.Host)
		}},
		{"cross-site", 403, "", header("Sec-Fetch-Site", "cross-site")},
		{"same site, other origin", 403, "", header("Sec-Fetch-Site", "same-site")},
		{"frame of another page", 403, "", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "iframe")
		}},
		{"form", 415, "name=x&content=y", header("Content-Type", "application/x-www-form-urlencoded")},
		{"form with files", 415, "--x--", header("Content-Type", "multipart/form-data; boundary=x")},
		{"json as text", 415, `{"name":"x"}`, header("Content-Type", "text/plain")},
		{"json that only resembles it", 415, `{}`, header("Content-Type", "text/plain; application/json")},
		{"body without a type", 415, `{}`, func(r *http.Request) { r.Header.Del("Content-Type") }},
		{"empty form", 415, "", header("Content-Type", "application/x-www-form-urlencoded")},
	}
	for _, stranger := range strangers {
		t.Run(stranger.rule, func(t *testing.T) {
			for _, c := range calls {
				got := s.do(c.method, c.path, stranger.body, stranger.change)
				if c.method == "HEAD" {
					continue
				}
				if got.status != stranger.status || !strings.HasPrefix(got.body, `{"detail":"`) {
					t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
				}
			}
		})
	}
	t.Run("no answer may be read by another origin", func(t *testing.T) {
		for _, c := range calls {
			got := s.send(s.request("OPTIONS", c.path, "", header("Origin", "http://evil.example"), header("Access-Control-Request-Method", c.method)))
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("OPTIONS %s has %s", c.path, name)
				}
			}
		}
	})
}

// everyPart returns a backend with all parts, so that every route exists. Parts without a fake
// would panic if a request reached them.
func everyPart() Backend {
	b := newFake().backend()
	b.Plugins, b.Jobs, b.Daemon, b.Configuration = struct{ Plugins }{}, struct{ Jobs }{}, struct{ Daemon }{}, struct{ Configuration }{}
	b.Logs = struct{ Logs }{}
	return b
}

// unreached returns the handler of /mcp and of the web pages, which no refused request may reach.
func unreached(t *testing.T) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodOptions {
			t.Errorf("%s %s was not refused", r.Method, r.URL.Path)
		}
	})
}

func port(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

func TestAllowedRequests(t *testing.T) {
	s := serve(t, Options{Hosts: []string{"Patchbay.example", "behind.example:9999"}})
	p := port(s.addr)
	friends := []struct {
		rule    string
		changes []change
	}{
		{"localhost", []change{host("localhost:" + p)}},
		{"localhost in capitals", []change{host("LocalHost:" + p)}},
		{"another loopback address", []change{host("127.1.2.3:" + p)}},
		{"the loopback address of IPv6", []change{host("[::1]:" + p)}},
		{"a configured name with our port", []change{host("patchbay.example:" + p)}},
		{"a configured name with its own port", []change{host("behind.example:9999")}},
		{"its own origin", []change{header("Origin", "http://"+s.addr)}},
		{"its own origin by name", []change{host("localhost:" + p), header("Origin", "http://localhost:"+p)}},
		{"a proxy that speaks TLS", []change{host("behind.example:9999"), header("Origin", "https://behind.example:9999")}},
		{"its own page", []change{header("Sec-Fetch-Site", "same-origin")}},
		{"an address that was typed", []change{header("Sec-Fetch-Site", "none")}},
		{"a link from elsewhere", []change{header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")}},
		{"json with a charset", []change{header("Content-Type", "application/json; charset=utf-8")}},
	}
	for _, f := range friends {
		t.Run(f.rule, func(t *testing.T) {
			if got := s.do("GET", "/features", "", f.changes...); got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

// TestToken: if a token is set, every route needs it, health and metrics included.
func TestToken(t *testing.T) {
	s := serve(t, Options{Backend: everyPart(), Token: config.NewSecret("open sesame"), Metrics: http.NotFoundHandler()})
	bearer := header("Authorization", "Bearer open sesame")
	for _, c := range everyCall(t, s, bearer) {
		got := s.do(c.method, c.path, "")
		if got.status != http.StatusUnauthorized || len(got.header.Values("WWW-Authenticate")) != 2 {
			t.Errorf("%s %s without a token: %d %s", c.method, c.path, got.status, got.body)
		}
	}
	for _, wrong := range []string{"Bearer", "Bearer ", "Bearer open", "Bearer open sesame!", "open sesame", "Basic b3BlbiBzZXNhbWU="} {
		if got := s.do("GET", "/features", "", header("Authorization", wrong)); got.status != http.StatusUnauthorized {
			t.Errorf("%q: %d", wrong, got.status)
		}
	}
	if got := s.do("GET", "/features", "", header("Authorization", "bearer open sesame")); got.status != 200 {
		t.Errorf("the scheme in lower case: %d", got.status)
	}
	basic := func(r *http.Request) { r.SetBasicAuth("anybody", "open sesame") }
	if got := s.do("GET", "/features", "", basic); got.status != 200 {
		t.Errorf("basic: %d", got.status)
	}
	if got := s.do("GET", "/features", "", bearer, host("evil.example")); got.status != http.StatusForbidden {
		t.Errorf("the token with a foreign host: %d", got.status)
	}
	if strings.Contains(s.log.String(), "sesame") {
		t.Error("the log has the token")
	}
}

// TestCallers: without a token, the calling process decides whether a request is allowed.
func TestCallers(t *testing.T) {
	inside, unknown := &daemonaccess.Refusal{Inside: true, Reason: "it is inside"}, &daemonaccess.Refusal{Reason: "no such process"}
	start := func(t *testing.T, o Options, err error, tweaks ...func(*http.Server)) (*server, *atomic.Int32) {
		t.Helper()
		asked := new(atomic.Int32)
		s := serve(t, o, append(tweaks, func(srv *http.Server) {
			srv.Handler.(*front).gate.caller = func(local, remote netip.AddrPort) error {
				asked.Add(1)
				if !local.Addr().IsLoopback() || remote.Port() == 0 || local == remote {
					t.Errorf("asked about %s and %s", local, remote)
				}
				return err
			}
		})...)
		return s, asked
	}
	t.Run("a caller in a sandbox is refused on every route", func(t *testing.T) {
		s, _ := start(t, Options{}, inside)
		for _, c := range everyCall(t, serve(t, Options{})) {
			s.do(c.method, c.path, "").wantsDetail(t, 403, "Calls from inside a Patchbay sandbox are refused")
		}
		if log := s.log.String(); !strings.Contains(log, "caller refused") || !strings.Contains(log, "it is inside") {
			t.Errorf("the log: %s", log)
		}
	})
	t.Run("an unknown caller is told what to do", func(t *testing.T) {
		s, _ := start(t, Options{}, unknown)
		got := s.do("GET", "/features", "")
		got.wantsDetail(t, 403, "Caller unknown: no such process")
		got.wantsDetail(t, 403, "[server] token")
	})
	t.Run("other callers are served, and checked once for each connection", func(t *testing.T) {
		s, asked := start(t, Options{}, nil, func(srv *http.Server) { srv.ConnContext = ConnContext })
		for range 3 {
			if got := s.do("GET", "/features", ""); got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
	t.Run("without ConnContext, the caller is checked for every request", func(t *testing.T) {
		s, asked := start(t, Options{}, nil)
		for range 3 {
			s.do("GET", "/features", "")
		}
		if asked.Load() != 3 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
	t.Run("with a token, the caller is not checked", func(t *testing.T) {
		s, asked := start(t, Options{Token: config.NewSecret("open sesame")}, inside)
		if got := s.do("GET", "/features", "", header("Authorization", "Bearer open sesame")); got.status != 200 || asked.Load() != 0 {
			t.Errorf("%d %s, asked %d times", got.status, got.body, asked.Load())
		}
	})
}

// TestUnixSocket: every process that may open the socket is allowed, under any host name. Web pages
// are not.
func TestUnixSocket(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Skipf("no unix sockets here: %v", err)
	}
	s := serveOn(t, Options{Token: config.NewSecret("open sesame")}, listener)
	s.addr = "patchbay"
	if got := s.do("GET", "/features", ""); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.do("GET", "/features", "", header("Origin", "http://evil.example")).wantsDetail(t, 403, "Origin not allowed")
}

func TestCheckListen(t *testing.T) {
	tests := []struct {
		addr  string
		token bool
		want  string // a part of the error; "": none
	}{
		{"127.0.0.1:8000", false, ""},
		{"127.9.9.9:8000", false, ""},
		{"[::1]:8000", false, ""},
		{"[::ffff:127.0.0.1]:8000", false, ""},
		{"localhost:0", false, ""},
		{"unix:/run/patchbay.sock", false, "HOST:PORT"},
		{"unix:/run/patchbay.sock", true, "HOST:PORT"},
		{"0.0.0.0:8000", true, ""},
		{"0.0.0.0:8000", false, "[server]"},
		{":8000", false, "[server]"},
		{"[::]:8000", false, "127.0.0.1"},
		{"192.0.2.1:8000", false, "token"},
		{"localhost.evil.example:8000", false, "token"},
		{"127.0.0.1.evil.example:8000", false, "token"},
		{"8000", false, "want HOST:PORT"},
		{"8000", true, "want HOST:PORT"},
	}
	for _, test := range tests {
		err := CheckListen(test.addr, test.token)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("CheckListen(%q, %v): %v; want %q", test.addr, test.token, err, test.want)
		}
	}
}

// FuzzHost: a host that is accepted is loopback, ours, or configured, and has the right port.
func FuzzHost(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"localhost:8000", "127.0.0.1:8000", "[::1]:8000", "evil:8000", "[::1", "localhost:8000:8000", "", "[localhost]:8000", "x@localhost:8000"} {
		f.Add(seed)
	}
	g := newGate(config.Secret{}, []string{"mine.example"}, slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, hostport string) {
		if !g.knowsHost(hostport, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8000}) || strings.EqualFold(hostport, "mine.example") {
			return
		}
		name, port, err := net.SplitHostPort(strings.ToLower(hostport))
		ours := name == "localhost" || name == "mine.example" || name == "192.0.2.1" || net.ParseIP(name).IsLoopback()
		if err != nil || port != "8000" || !ours {
			t.Errorf("%q was accepted", hostport)
		}
	})
}
