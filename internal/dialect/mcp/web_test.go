package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// A site is an MCP server over HTTP, of one kind.
type site struct {
	*httptest.Server
	modern bool
	stream bool // answers are streams of events

	mu       sync.Mutex // protects the fields below
	sessions int
	lost     bool // the session is forgotten
	headers  []http.Header
	ended    int // sessions that were ended
}

func newSite(t *testing.T, modern, stream bool) *site {
	s := &site{modern: modern, stream: stream}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = append(s.headers, r.Header.Clone())
	if r.Header.Get("Authorization") != "Bearer t0ken" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	switch r.Method {
	case http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case http.MethodDelete:
		s.ended++
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name string
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if session := r.Header.Get("Mcp-Session-Id"); !s.modern && m.Method != "initialize" && (s.lost || session != fmt.Sprintf("session-%d", s.sessions)) && m.Method != "server/discover" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.answer(w, m.ID, m.Method, m.Params.Name)
}

func (s *site) answer(w http.ResponseWriter, id json.RawMessage, method, name string) {
	result := `{}`
	switch {
	case method == "server/discover" && s.modern:
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case method == "server/discover":
		w.WriteHeader(http.StatusBadRequest)
		return
	case method == "initialize" && !s.modern:
		s.sessions++
		s.lost = false
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("session-%d", s.sessions))
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"site","version":"1"}}`
	case method == "tools/list":
		result = `{"tools":[{"name":"hello","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`
	case method == "tools/call":
		result = `{"content":[{"type":"text","text":"hello from ` + name + `"}]}`
	case len(id) == 0:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	if !s.stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, ": a comment\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\r\n\r\nid: 2\ndata: %s\n\n", message)
}

func (s *site) saw(match func(http.Header) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.headers, match)
}

// openSite opens a host with the site as a plugin, whose header contains a secret.
func openSite(t *testing.T, address, secret string) *testBed {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "patchbay"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "patchbay", "secrets.toml"), []byte("TOKEN = \""+secret+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return openIn(t, home, fmt.Sprintf("[[mcp]]\nname = \"site\"\nurl = %q\nheaders = { Authorization = \"Bearer ${TOKEN}\" }\n", address))
}

func TestWeb(t *testing.T) {
	for _, modern := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("modern %t, streams %t", modern, stream), func(t *testing.T) {
				s := newSite(t, modern, stream)
				b := openSite(t, s.URL, "t0ken")
				if got := b.must("site_hello", `{"region":"here"}`); got != "hello from hello" {
					t.Errorf("%q", got)
				}
				named := s.saw(func(h http.Header) bool {
					return h.Get("Mcp-Method") == "tools/call" && h.Get("Mcp-Name") == "hello" && h.Get("Mcp-Param-Region") == "here" && h.Get("MCP-Protocol-Version") == "2026-07-28"
				})
				if named != modern {
					t.Errorf("the headers name the call: %t", named)
				}
				if strings.Contains(b.log.String(), "t0ken") {
					t.Error("the log has the secret")
				}
			})
		}
	}
}

// TestWebForgets: if the server has forgotten the session, a new one is opened and the call is
// made: docs/protocols/mcp.md, row C32.
func TestWebForgets(t *testing.T) {
	s := newSite(t, false, false)
	b := openSite(t, s.URL, "t0ken")
	b.must("site_hello", `{}`)
	s.mu.Lock()
	s.lost = true
	s.mu.Unlock()
	b.must("site_hello", `{}`)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions != 2 {
		t.Errorf("%d sessions", s.sessions)
	}
}

// TestWebRefused: the error of a server that refuses names the fix, and never the secret:
// docs/protocols/mcp.md, row C33.
func TestWebRefused(t *testing.T) {
	s := newSite(t, false, false)
	b := openSite(t, s.URL, "wr0ng")
	p, err := b.host.Plugin("site")
	if err != nil || p.State != dialect.Broken || p.Error == nil || !strings.Contains(*p.Error, "401") || strings.Contains(*p.Error, "wr0ng") {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestWebRedirects: a redirect to another server is not followed: docs/protocols/mcp.md, row C34.
func TestWebRedirects(t *testing.T) {
	other := newSite(t, false, false)
	from := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer from.Close()
	b := openSite(t, from.URL, "t0ken")
	if p, err := b.host.Plugin("site"); err != nil || p.State != dialect.Broken {
		t.Errorf("%+v, %v", p, err)
	}
	if other.saw(func(http.Header) bool { return true }) {
		t.Error("the other server was asked")
	}
}

// TestWebHasNoSandbox: capabilities for a server at an address are refused, since nothing can
// enforce them: docs/protocols/mcp.md, row C35.
func TestWebHasNoSandbox(t *testing.T) {
	b := open(t, "[[mcp]]\nname = \"site\"\nurl = \"http://127.0.0.1:1\"\n[plugins.site]\ncapabilities = []\n")
	if p, err := b.host.Plugin("site"); err != nil || p.Error == nil || !strings.Contains(*p.Error, "capabilities") {
		t.Errorf("%+v, %v", p, err)
	}
}
