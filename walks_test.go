package patchbay_test

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

var (
	quotedCode = regexp.MustCompile("`([^`]+)`")
	qualified  = regexp.MustCompile(`^([A-Za-z]\w*)\.([A-Za-z]\w*)$`)
	codeWord   = regexp.MustCompile(`[\w./-]*\w`)
	sourceFile = regexp.MustCompile(`^(?:[\w.-]+/)*[\w.-]+\.go$`)
)

// TestTheWalksAreTrue: docs/architecture.md names functions, methods and files that exist.
func TestTheWalksAreTrue(t *testing.T) {
	known := declarations(t)
	named := 0
	const path = "docs/architecture.md"
	for _, p := range paragraphs(path, page(t, path)) {
		for _, name := range namesIn(p.text) {
			named++
			if !known[name] {
				t.Errorf("%s: %s does not exist", p.place, name)
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d names were found: the pattern is broken", named)
	}
}

// TestTheCallTreesAreTrue: the call trees in doc.go files name functions, methods and files that
// exist. Names of other modules, and variables of examples, are not checked.
func TestTheCallTreesAreTrue(t *testing.T) {
	known, named := declarations(t), 0
	owners := make(map[string]bool) // packages by name, and the types of each directory: "DIR Type"
	for _, f := range readRepository(t, ".go") {
		owners[f.ast.Name.Name] = true
		for _, decl := range f.ast.Decls {
			for _, name := range declared(decl) {
				owners[filepath.Dir(f.name)+" "+name] = owners[filepath.Dir(f.name)+" "+name] || !strings.HasSuffix(f.name, "_test.go")
			}
		}
	}
	for _, f := range readRepository(t, ".go") {
		if filepath.Base(f.name) != "doc.go" {
			continue
		}
		for _, name := range namesInTrees(f.ast.Doc.Text()) {
			owner, _, _ := strings.Cut(name, ".")
			if sourceFile.MatchString(name) || owners[owner] || owners[filepath.Dir(f.name)+" "+owner] {
				named++
				if !known[name] {
					t.Errorf("%s: %s does not exist", f.name, name)
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d names were found: the pattern is broken", named)
	}
}

// TestWalksCanFail: a name that does not exist is reported. Other files, points and commands are
// not taken for names of code.
func TestWalksCanFail(t *testing.T) {
	known := declarations(t)
	for _, name := range namesIn("`Host.Vanish`, `nowhere.go`, `hook.Nothing`") {
		if known[name] {
			t.Errorf("%s does not exist, but was found", name)
		}
	}
	if got := namesIn("`Host.Fire` and `hook/call.go`, `config.toml`, `tool.before`, `patchbay tool call x`"); !slices.Equal(got, []string{"Host.Fire", "hook/call.go"}) {
		t.Errorf("got %q", got)
	}
	if got := namesInTrees("Host.Text\n\n\tHost.Fire ─► tool.before  call.go: the hook\n"); !slices.Equal(got, []string{"Host.Fire", "call.go"}) {
		t.Errorf("of a tree: %q", got)
	}
}

// namesIn returns the names of Go declarations, written Type.Method or package.Name, and of Go
// files that a page quotes.
func namesIn(text string) []string {
	var out []string
	for _, m := range quotedCode.FindAllStringSubmatch(text, -1) {
		name := m[1]
		_, isPoint := hook.Point(name).Spec()
		switch {
		case sourceFile.MatchString(name):
			out = append(out, name)
		case isPoint, slices.Contains([]string{".toml", ".md", ".json", ".yaml", ".lock", ".log"}, filepath.Ext(name)):
		case qualified.MatchString(name):
			out = append(out, name)
		}
	}
	return out
}

// namesInTrees returns the same names in the indented lines of a comment.
func namesInTrees(comment string) []string {
	var out []string
	for line := range strings.Lines(comment) {
		if strings.HasPrefix(line, "\t") {
			out = append(out, namesIn("`"+strings.Join(codeWord.FindAllString(line, -1), "` `")+"`")...)
		}
	}
	return out
}

// declarations returns what the Go files of the repository declare, and the files themselves by
// their names and by their paths.
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	known := make(map[string]bool)
	for _, f := range readRepository(t, ".go") {
		known[f.name], known[filepath.Base(f.name)] = true, true
		for _, decl := range f.ast.Decls {
			for _, name := range declared(decl) {
				known[f.ast.Name.Name+"."+name] = true
				known[name] = true
			}
		}
	}
	return known
}

// declared returns the names that a declaration introduces; those of methods and fields have the
// name of their type before them.
func declared(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		return []string{receiver(d.Recv.List[0].Type) + "." + d.Name.Name}
	case *ast.GenDecl:
		var out []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
				out = append(out, members(s)...)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					out = append(out, name.Name)
				}
			}
		}
		return out
	}
	return nil
}

// members returns the fields of a struct and the methods of an interface.
func members(s *ast.TypeSpec) []string {
	var list *ast.FieldList
	switch kind := s.Type.(type) {
	case *ast.StructType:
		list = kind.Fields
	case *ast.InterfaceType:
		list = kind.Methods
	default:
		return nil
	}
	var out []string
	for _, field := range list.List {
		for _, name := range field.Names {
			out = append(out, s.Name.Name+"."+name.Name)
		}
	}
	return out
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
