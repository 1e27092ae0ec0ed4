package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// endpoint returns the JSON blocks that the protocol document prints for one route, in order.
func endpoint(t *testing.T, doc *plugtest.Document, heading string) []string {
	t.Helper()
	var blocks []string
	for _, b := range doc.Blocks("json") {
		if b.Heading == heading {
			blocks = append(blocks, compact(t, b.Text))
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("the document has no JSON under %q", heading)
	}
	return blocks
}

// TestSeedEndpoints sends the requests that the document prints and wants the answers that it
// prints, byte for byte except for spaces. The order of fields counts too.
func TestSeedEndpoints(t *testing.T) {
	doc := plugtest.Seed(t, "004")
	s := serve(t, Options{})
	s.features.on[feature.Plugins] = true
	list, detail := endpoint(t, doc, "GET `/plugin/list`")[0], endpoint(t, doc, "GET `/plugin/{name}`")[0]
	var logger Source
	if err := json.Unmarshal([]byte(detail), &logger); err != nil {
		t.Fatal(err)
	}
	s.sources.put(logger)
	t.Run("list", func(t *testing.T) { s.do("GET", "/plugin/list", "").wants(t, 200, list) })
	t.Run("get", func(t *testing.T) { s.do("GET", "/plugin/logger", "").wants(t, 200, detail) })
	t.Run("reload", func(t *testing.T) {
		s.do("POST", "/plugin/logger/reload", "").wants(t, 200, endpoint(t, doc, "POST `/plugin/{name}/reload`")[0])
	})
	t.Run("save", func(t *testing.T) {
		b := endpoint(t, doc, "POST `/plugin/save`")
		s.do("POST", "/plugin/save", b[0]).wants(t, 200, b[1])
	})
	t.Run("delete", func(t *testing.T) {
		s.do("DELETE", "/plugin/my_plugin", "").wants(t, 200, endpoint(t, doc, "DELETE `/plugin/{name}`")[0])
	})
	t.Run("validate", func(t *testing.T) {
		b := endpoint(t, doc, "POST `/plugin/validate`")
		s.do("POST", "/plugin/validate", b[0]).wants(t, 200, b[1])
		invalid := s.do("POST", "/plugin/validate", `{"name":"test_plugin","content":"async def init("}`)
		invalid.wantsDetail(t, 400, strings.TrimSuffix(detailOf(t, b[2]), "..."))
	})
}

func detailOf(t *testing.T, block string) string {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(block), &p); err != nil || p.Detail == "" {
		t.Fatalf("no detail in %s (%v)", block, err)
	}
	return p.Detail
}

// TestSeedCurl runs every curl command of the document, as curl would send it.
func TestSeedCurl(t *testing.T) {
	doc := plugtest.Seed(t, "004")
	s := serve(t, Options{})
	for _, name := range []string{"logger", "footer"} {
		s.sources.put(Source{Name: name})
	}
	ran := 0
	for _, b := range doc.Blocks("bash") {
		for _, command := range strings.Split(strings.ReplaceAll(b.Text, "\\\n", ""), "\n") {
			if words := shellWords(command); len(words) > 0 && words[0] == "curl" {
				ran++
				s.curl(t, words[1:])
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d curl commands found in the document", ran)
	}
	s.do("GET", "/session/ses_a", "").wants(t, 200,
		`{"id":"ses_a","plugins":["logger"],"working_dir":"","created_at":"2026-01-02T03:04:05Z","title":""}`)
}

// curl sends what curl would with those arguments.
func (s *server) curl(t *testing.T, args []string) {
	t.Helper()
	method, url, data, headers := "GET", "", "", http.Header{}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-X":
			i++
			method = args[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			headers.Set(name, value)
		case "-d":
			i++
			data = args[i]
		default:
			url = args[i]
		}
	}
	path := strings.TrimPrefix(strings.ReplaceAll(url, "{id}", "ses_a"), "http://localhost:8000")
	_, port, _ := strings.Cut(s.addr, ":")
	got := s.do(method, path, data, host("localhost:"+port), func(r *http.Request) { r.Header = headers })
	if got.status != http.StatusOK {
		t.Errorf("curl %q: %d %s", args, got.status, got.body)
	}
}

// shellWords splits a line at spaces, except for those in single quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, quoted(part)...)
		}
	}
	return words
}

// quoted splits a text at spaces, except for those in double quotes.
func quoted(text string) []string {
	var words []string
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
