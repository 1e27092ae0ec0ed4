package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// nasty lists names that a client should not send. OUTSIDE becomes a file of the test itself,
// because a daemon that runs as root must not harm the machine if the test fails.
var nasty = []string{
	"..", ".", "...", "../outside", "../../outside", "../../../../../..OUTSIDE", "OUTSIDE", "//evil.example/x", `..\outside`,
	`C:\x`, "a/../../outside", "a/b", "~", "~root/.ssh", "$HOME", "${PLANTED}", "`id`", "$(id)", "; id", "| id", "-rf", "--help", "",
	" ", "a b", "a\x00b", "\x00", "a\nb", "a\r\nX: y", "\x1b[2J", "\u202egnp.exe", "．．／outside", "‥/outside", "․․/outside", "%2e%2e%2foutside",
	"%00", "a.py", ".hidden", "_private", "con", "nul", "*", ">", "a.*", "$JS.API.>", "KV_sessions.>", "a.b.>", strings.Repeat("a", 300),
	strings.Repeat("../", 80) + "outside", strings.Repeat("é", 128), "\xff\xfe", "null", "0", "-1", "1e999", "'; drop table x", "{id}", "<script>",
}

// encodings lists the ways to write a name in a path.
var encodings = []func(string) string{
	url.PathEscape,
	func(name string) string { // every byte
		var b strings.Builder
		for i := range len(name) {
			fmt.Fprintf(&b, "%%%02x", name[i])
		}
		return b.String()
	},
	func(name string) string { return url.PathEscape(url.PathEscape(name)) },
}

// slowRoutes lists the routes on which a request takes a tenth of a second, because it starts an
// interpreter or searches all directories of plugins. In a short run each name is sent in the body
// of only one of these routes.
var slowRoutes = []string{"/plugin/validate", "/plugin/save", "/v1/python/check", "/v1/plugins/{name}/executable"}

// An operation is a route of the OpenAPI document.
type operation struct {
	method, path string
	body         map[string]json.RawMessage // the fields of its body, with their schemas
	query        []string
}

// operations returns all routes of the daemon's OpenAPI document.
func (s *served) operations() []operation {
	s.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, In string }
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref        string `json:"$ref"`
						Properties map[string]json.RawMessage
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(s.do("GET", "/openapi.json", "").body), &doc); err != nil {
		s.t.Fatal(err)
	}
	var all []operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, o := range doc.Paths[path] {
			op := operation{method: strings.ToUpper(method), path: path}
			schema := o.RequestBody.Content["application/json"].Schema
			op.body = schema.Properties
			if name := filepath.Base(schema.Ref); schema.Ref != "" {
				op.body = doc.Components.Schemas[name].Properties
			}
			for _, p := range o.Parameters {
				if p.In == "query" {
					op.query = append(op.query, p.Name)
				}
			}
			all = append(all, op)
		}
	}
	if len(all) < 35 {
		s.t.Fatalf("only %d routes in the document", len(all))
	}
	return all
}

// at returns the path with name in place of every parameter.
func (o operation) at(name string) string {
	parts := strings.Split(o.path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = name
		}
	}
	return strings.Join(parts, "/")
}

// with returns a body with text in place of every string.
func (o operation) with(text string) string {
	if o.body == nil {
		return ""
	}
	body := make(map[string]any)
	for field, schema := range o.body {
		switch {
		case strings.HasPrefix(field, "$"):
		case bytes.Contains(schema, []byte(`"array"`)):
			body[field] = []string{text}
		case bytes.Contains(schema, []byte(`"boolean"`)):
			body[field] = true
		case bytes.Contains(schema, []byte(`"string"`)):
			body[field] = text
		default:
			body[field] = map[string]string{text: text}
		}
	}
	data, _ := json.Marshal(body) // strings always encode
	return string(data)
}

// A tree maps each path on disk to its kind, its mode, and its content or link target.
type tree map[string]string

func snapshot(t *testing.T, root string) tree {
	t.Helper()
	all := make(tree)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		}
		all[path] = info.Mode().String() + " " + text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same checks that nothing was created, changed or removed, except in the daemon's own directories.
func (before tree) same(t *testing.T, after tree, own ...string) {
	t.Helper()
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if slices.ContainsFunc(own, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator)) }) {
			continue
		}
		if before[path] != after[path] {
			t.Errorf("%q was %.80q and is %.80q", path, before[path], after[path])
		}
	}
}

// TestNamesStayNames puts nasty strings into every parameter and every field of every route. The
// daemon creates, reads and changes nothing outside of its own directories, answers no request with
// a server error, and every answer is complete. In a short run each route gets each name in only
// one encoding. Which one it is changes from route to route.
func TestNamesStayNames(t *testing.T) {
	t.Parallel()
	plugtest.NeedTool(t, "python3")
	around := t.TempDir()
	h := testHome{t, filepath.Join(around, "a", "home")}
	const treasure = "the treasure that no client may see"
	for _, path := range []string{"../../outside", "../../outside.py", "../outside", "../outside.py", "outside.py", ".agent/outside.py", "outside/agent.toml"} {
		h.write(path, treasure)
	}
	h.write(".agent/plugins/keep.py", stamp("keep"))
	h.write(".config/patchbay/agents/greeter/agent.toml", greeter)
	h.write(".config/patchbay/agents/broken/agent.toml", "[agent]\nnam = 1\n")
	s := h.serve("", Limits{})
	if _, err := s.Features.Set(t.Context(), feature.Plugins, true); err != nil {
		t.Fatal(err)
	}
	nasty := slices.Clone(nasty)
	for i := range nasty {
		nasty[i] = strings.ReplaceAll(nasty[i], "OUTSIDE", filepath.Join(around, "outside"))
	}
	before := snapshot(t, around)
	check := func(method, path, body string) {
		t.Helper()
		got := s.do(method, path, body)
		location := got.header.Get("Location")
		switch {
		case got.status >= 500 && got.status != 503:
			t.Errorf("%s %q %.100s: %d %s", method, path, body, got.status, got.body)
		case strings.Contains(got.body, treasure):
			t.Errorf("%s %q shows a file: %s", method, path, got.body)
		case strings.HasPrefix(location, "//") || strings.Contains(location, "://") || strings.Contains(location, `\`):
			t.Errorf("%s %q leads away: %q", method, path, location)
		case !utf8.ValidString(got.body):
			t.Errorf("%s %q: not UTF-8: %q", method, path, got.body)
		case len(got.body) > 0 && strings.HasPrefix(got.header.Get("Content-Type"), "application/json") && !json.Valid([]byte(got.body)):
			t.Errorf("%s %q: not JSON: %q", method, path, got.body)
		}
	}
	for route, o := range s.operations() {
		t.Run(o.method+" "+strings.Trim(strings.ReplaceAll(o.path, "/", " "), " "), func(t *testing.T) {
			if o.path == "/v1/events" { // a stream that does not end; httpapi tests its parameters
				t.Skip("a stream")
			}
			turn := slices.Index(slowRoutes, o.path)
			for i, name := range nasty {
				if strings.Contains(o.path, "{") {
					for j, encode := range encodings {
						if soak.Pair(i+route, j, len(encodings)) {
							check(o.method, o.at(encode(name)), o.with("x"))
						}
					}
				}
				if o.body != nil && (turn < 0 || soak.Pair(i, turn, len(slowRoutes))) {
					check(o.method, o.at("greeter"), o.with(name))
				}
				for _, q := range o.query {
					check(o.method, o.at("x")+"?"+url.Values{q: {name}}.Encode(), "")
				}
			}
		})
	}
	t.Run("an agent whose manifest is broken", func(t *testing.T) {
		for _, path := range []string{"/v1/jobs/broken", "/v1/jobs/greeter", "/v1/runs/broken/daily/1"} {
			check("GET", path, "")
		}
		check("POST", "/v1/jobs/broken/run", "{}")
		check("POST", "/v1/jobs/greeter/run", `{"schedule":"../../x"}`)
	})
	t.Run("valid code under an invalid name", func(t *testing.T) {
		for i, name := range nasty {
			for j, code := range []string{stamp("fine"), stamp(strings.NewReplacer(`"`, "", `\`, "", "\n", "", "\r", "", "\x00", "").Replace(name))} {
				if !soak.Pair(i, j, 2) {
					continue
				}
				body, err := json.Marshal(map[string]string{"name": name, "content": code})
				if err != nil {
					t.Fatal(err)
				}
				check("POST", "/plugin/validate", string(body))
				if !validNames[name] {
					check("POST", "/plugin/save", string(body))
				}
			}
		}
	})
	t.Run("a valid name for code that declares an invalid one", func(t *testing.T) {
		body, err := json.Marshal(map[string]string{"name": "keep", "content": stamp("../../outside")})
		if err != nil {
			t.Fatal(err)
		}
		check("POST", "/plugin/validate", string(body))
	})
	before.same(t, snapshot(t, around), s.Dirs.State, filepath.Join(s.Dirs.Data, "engine"))
	s.works("all of them")
}

// validNames lists the nasty names that a plugin may have.
var validNames = map[string]bool{"_private": true, "con": true, "nul": true, "null": true, "0": true, "1e999": true}

// TestBodies sends odd bodies to every route that takes one. No answer is a server error, except
// 503, and every error is short.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := newTestHome(t).serve("", Limits{})
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	bodies := map[string]string{
		"nothing but spaces": "   ", "half": `{"name":`, "two values": `{}{}`, "a comma too many": `{"a":1,}`, "a number": "1", "a list": "[]", "null": "null", "a text": `"x"`,
		"bad UTF-8": "{\"name\":\"\xff\xfe\",\"content\":\"\xc0\x80\",\"text\":\"\xed\xa0\x80\",\"point\":\"\xff\"}", "UTF-16": "\xff\xfe{\x00}\x00",
		"half a pair": `{"name":"\ud800","content":"\udfff","text":"\ud800x","point":"\ud800","title":"\ud800"}`, "a byte order mark": "\ufeff{}",
		"zero bytes": "{\"name\":\"a\x00\"}", "one key a thousand times": `{` + strings.Repeat(`"name":"x",`, 1000) + `"name":"x"}`,
		"a number beyond counting": `{"title":1e999999,"name":1e999999,"limit":1e999999}`, "a deep list": deep(200_000), "a deep list in data": `{"point":"turn.input","data":{"message":` + deep(5_000) + `}}`,
		"a very deep list in data": `{"point":"turn.input","data":` + deep(200_000) + `,"arguments":` + deep(10) + `}`, "deep arguments": `{"arguments":{"a":` + deep(9_000) + `}}`,
		"fields of other kinds":      `{"name":{},"content":[],"text":1,"point":null,"data":"x","arguments":1,"plugins":"x","schedule":[],"once":"yes","title":{}}`,
		"a hundred thousand plugins": `{"plugins":[` + strings.Repeat(`"a",`, 100_000) + `"a"]}`, "a prototype": `{"__proto__":{"x":1},"constructor":{"prototype":{}}}`,
		"a title of 900 KB": `{"title":"` + strings.Repeat("x", 900_000) + `"}`, "a text with controls": `{"text":"\u0000\u001b[2J\u202e","title":"\u0000\u001b[2J"}`,
	}
	session := s.session()
	for _, o := range s.operations() {
		if o.method == "GET" || o.method == "DELETE" {
			continue
		}
		for what, body := range bodies {
			got := s.do(o.method, o.at(session), body)
			if got.status >= 500 && got.status != 503 || !json.Valid([]byte(got.body)) || got.status >= 400 && len(got.body) > 6<<10 {
				t.Errorf("%s %s, %s: %d %.300s", o.method, o.path, what, got.status, got.body)
			}
		}
	}
	s.works("all of them")
}
