package patchbay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestSleepsHaveAReason: a test that sleeps until something has probably happened fails on a busy
// machine. A sleep must be the pause of a polling loop, or run on the clock of testing/synctest, or
// have a comment on its line that says why the test needs time to pass.
func TestSleepsHaveAReason(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules" || path != "." && strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		bare, err := bareSleeps(path, nil)
		for _, at := range bare {
			t.Errorf("%s: a time.Sleep without a reason: wait until the thing has happened, or say in a comment on this line why time must pass", at)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBareSleepsAreFound: bareSleeps reports a sleep that breaks the rule.
func TestBareSleepsAreFound(t *testing.T) {
	for source, want := range map[string]int{
		"time.Sleep(1)":                                       1,
		"time.Sleep(1) // as a slow editor does":              0,
		"for { time.Sleep(1) }":                               0,
		"for range 3 { f(func() { time.Sleep(1) }) }":         1,
		"synctest.Test(t, func(t *T) { time.Sleep(1) })":      0,
		"go func() { time.Sleep(1) }()":                       1,
		"for ; ; time.Sleep(1) { }":                           0,
		"t.Run(n, inBubble(func() { time.Sleep(1) }))":        0,
		"m := map[string]func(){\"hangs\": func() { x() }}\n": 0,
	} {
		got, err := bareSleeps("a_test.go", "package a\nfunc f() {\n"+source+"\n}\n")
		if err != nil || len(got) != want {
			t.Errorf("%s: %v, %v; want %d", source, got, err, want)
		}
	}
}

// bareSleeps returns the places of sleeps without a reason in a file.
func bareSleeps(path string, source any) (places []token.Position, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	said := make(map[int]bool) // lines with a comment
	for _, group := range file.Comments {
		for _, c := range group.List {
			said[files.Position(c.Pos()).Line] = true
		}
	}
	var above []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if at := files.Position(n.Pos()); isCall(n, "time", "Sleep") && !said[at.Line] && !paced(above) {
			places = append(places, at)
		}
		above = append(above, n)
		return true
	})
	return places, nil
}

// paced reports whether a sleep below these nodes is in a loop of its function, or runs on the
// clock of testing/synctest.
func paced(above []ast.Node) bool {
	inFunction := true
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if inFunction {
				return true
			}
		case *ast.FuncLit:
			inFunction = false
		case *ast.FuncDecl:
			return hasBubble(n) // the sleep may be in a table of functions that run in the bubble
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); isCall(n, "synctest", "Test") || ok && name.Name == "inBubble" {
				return true
			}
		}
	}
	return false
}

func hasBubble(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		found = found || n != nil && isCall(n, "synctest", "Test")
		return !found
	})
	return found
}

func isCall(n ast.Node, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != name {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == pkg
}
