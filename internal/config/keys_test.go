package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// listed returns the keys of Sections, such as plugins.NAME.timeout.
func listed() []string {
	set := make(map[string]bool)
	for _, s := range Sections() {
		for _, k := range s.Keys {
			set[strings.TrimPrefix(s.Name+"."+k.Name, ".")] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// sectionsOf maps each function of schema.go to the table that it reads.
var sectionsOf = map[string]string{
	"readConfig": "", "readEngine": "engine.", "readModel": "model.", "readServer": "server.", "readChat": "chat.", "readJobs": "jobs.",
	"readTelemetry": "telemetry.",
	"readPlugin":    "plugins.NAME.", "readCapabilities": "plugins.NAME.", "readLimits": "plugins.NAME.limits.",
	"readConnects": "connect.", "readServers": "mcp.",
}

// TestTheTableOfKeysMatchesTheSchema: Sections has exactly the keys that schema.go reads.
func TestTheTableOfKeysMatchesTheSchema(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "schema.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	read := make(map[string]bool)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			key := keyAsked(n)
			if key == "" {
				return true
			}
			section, known := sectionsOf[f.Name.Name]
			if !known {
				t.Errorf("%s asks for %q: this test does not know which table it reads", f.Name.Name, key)
			}
			read[section+key] = true
			return true
		})
	}
	for _, table := range []string{"engine", "model", "server", "chat", "plugins", "connect", "jobs", "telemetry", "mcp", "plugins.NAME.limits"} {
		if !read[table] {
			t.Errorf("the table %s is not read; this test does not see how", table)
		}
		delete(read, table) // a section, not a key
	}
	compareKeys(t, "schema.go reads", slices.Sorted(maps.Keys(read)))
}

// keyAsked returns the key in a call such as t.Text("url", ""), OneOf(t, "sandbox", …), readSize(t,
// "memory") or count("processes").
func keyAsked(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	args := call.Args
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		on, _ := fun.X.(*ast.Ident)
		if on != nil && on.Name == "t" && slices.Contains([]string{"Bad", "BadItem", "Has"}, fun.Sel.Name) {
			return ""
		}
		if fun.Sel.Name == "OneOf" {
			args = args[1:]
		} else if on == nil || on.Name != "t" {
			return ""
		}
	case *ast.IndexExpr, *ast.FuncLit:
		return ""
	case *ast.Ident:
		switch fun.Name {
		case "readSize":
			args = args[1:]
		case "count":
		default:
			return ""
		}
	default:
		return ""
	}
	literal, ok := args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	key, _ := strconv.Unquote(literal.Value)
	return key
}

func compareKeys(t *testing.T, what string, got []string) {
	t.Helper()
	for _, key := range got {
		if !slices.Contains(listed(), key) {
			t.Errorf("%s %s, and the table in keys.go does not have it", what, key)
		}
	}
	for _, key := range listed() {
		if !slices.Contains(got, key) {
			t.Errorf("the table in keys.go has %s, which is not a key that %s", key, what)
		}
	}
}

// TestThePageHasTheKeysOfTheTable: the first TOML block of docs/configuration.md has exactly the
// keys of Sections.
func TestThePageHasTheKeysOfTheTable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```toml\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no TOML")
	}
	compareKeys(t, "docs/configuration.md explains", keysOf(t, "docs/configuration.md", block[1]))
}

// keysOf returns the keys that a text sets, with NAME for the names of plugins.
func keysOf(t *testing.T, name string, text []byte) []string {
	t.Helper()
	top, err := document.TOML(name, text)
	if err != nil {
		t.Fatal(err)
	}
	set := make(map[string]bool)
	collect(top.Self, "", set)
	return slices.Sorted(maps.Keys(set))
}

func collect(v document.Value, path string, set map[string]bool) {
	switch {
	case path == "plugins":
		for _, name := range v.Names() {
			collect(v.Get(name), "plugins.NAME", set)
		}
	case v.Kind() == document.List && (path == "connect" || path == "mcp"):
		for _, item := range v.Items() {
			collect(item, path, set)
		}
	case isTable(path):
		for _, name := range v.Names() {
			collect(v.Get(name), strings.TrimPrefix(path+"."+name, "."), set)
		}
	default:
		set[path] = true
	}
}

func isTable(path string) bool {
	return path == "" || slices.ContainsFunc(Sections(), func(s Section) bool { return s.Name == path })
}

// TestTheSampleChangesNothing: the file that `config init` writes has the same meaning as no file.
func TestTheSampleChangesNothing(t *testing.T) {
	c, err := ParseConfig("config.toml", []byte(Sample()))
	if err != nil {
		t.Fatal(err)
	}
	if c.Sandbox != Default().Sandbox || c.Server.Listen != Default().Server.Listen || len(c.Plugins)+len(c.Connect)+len(c.MCP) > 0 || c.Jobs.Dirs != nil {
		t.Errorf("the sample changes the configuration: %+v", c)
	}
	for i, line := range strings.Split(strings.TrimSuffix(Sample(), "\n"), "\n") {
		if line != "" && line[0] != '#' {
			t.Errorf("line %d is not commented out: %s", i+1, line)
		}
		if len([]rune(line)) > sampleWidth {
			t.Errorf("line %d is wider than a terminal: %s", i+1, line)
		}
	}
}

// TestTheSampleUncommented: without the # before the settings, the file is valid and has every key.
func TestTheSampleUncommented(t *testing.T) {
	text := regexp.MustCompile(`(?m)^#([a-z_]+ = |\[)`).ReplaceAllString(Sample(), "$1")
	if _, err := ParseConfig("config.toml", []byte(text)); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	compareKeys(t, "the sample sets", keysOf(t, "config.toml", []byte(text)))
}
