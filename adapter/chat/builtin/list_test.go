package builtin

import (
	"fmt"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	b := newBench(t, Options{})
	b.put("b.go", "package b\n")
	b.put("a/x.go", strings.Repeat("x", 2048))
	b.put("a/deep/y.ts", "")
	b.put(".hidden", "h")
	b.put(".git/config", "")
	b.put("node_modules/left/index.js", "")
	b.put("a/node_modules/right/index.js", "")

	t.Run("a directory alone, sorted, with sizes, hidden ones too", func(t *testing.T) {
		if got, want := b.ok("list_files", args{}), ".git/\n.hidden  1 B\na/\nb.go  10 B\nnode_modules/\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	t.Run("paths have the form that the other tools accept", func(t *testing.T) {
		if got := b.ok("list_files", args{"path": "a"}); got != "a/deep/\na/node_modules/\na/x.go  2.0 KiB\n" {
			t.Error(got)
		}
	})
	t.Run("deeper on request, but not into .git and node_modules", func(t *testing.T) {
		got := b.ok("list_files", args{"depth": 9})
		contains(t, got, "a/deep/y.ts  0 B\n", "[not entered: .git, node_modules, a/node_modules]")
		if strings.Contains(got, "config") || strings.Contains(got, "index.js") {
			t.Error(got)
		}
	})
	t.Run("a skipped directory is listed if path names it", func(t *testing.T) {
		contains(t, b.ok("list_files", args{"path": "node_modules", "depth": 2}), "node_modules/left/index.js")
	})
	t.Run("a pattern is searched for below", func(t *testing.T) {
		got := b.ok("list_files", args{"pattern": "*.go"})
		if !strings.HasPrefix(got, "a/x.go  2.0 KiB\nb.go  10 B\n[not entered") {
			t.Error(got)
		}
		contains(t, b.ok("list_files", args{"pattern": "a/**/*.ts"}), "a/deep/y.ts")
		contains(t, b.ok("list_files", args{"pattern": "*.rs"}), "[nothing in . matches]")
		b.fails("list_files", args{"pattern": "[a"}, "pattern", "syntax error")
	})
	t.Run("a file is listed as itself", func(t *testing.T) {
		if got := b.ok("list_files", args{"path": "b.go"}); got != "b.go  10 B\n" {
			t.Error(got)
		}
	})
	t.Run("a missing directory is an error", func(t *testing.T) {
		b.fails("list_files", args{"path": "none"}, `"none" does not exist`)
	})
}

// TestListIsBounded: a list has at most listMax entries. Deep entries are left out before near
// ones, and a note says that there are more.
func TestListIsBounded(t *testing.T) {
	b := newBench(t, Options{})
	for i := range listMax + 200 {
		b.put(fmt.Sprintf("many/%04d", i), "")
	}
	b.put("zoo", "")
	got := b.ok("list_files", args{"depth": 2})
	if n := strings.Count(got, "\n"); n != listMax+1 {
		t.Errorf("%d lines", n)
	}
	contains(t, got, "zoo  0 B\n", "[there is more: 1000 entries are shown") // near entries are listed
}

// TestGlob: * matches within one part of a path, ** any number of parts, and a pattern without a
// slash the last part.
func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.go", "a.go", true}, {"*.go", "x/y/a.go", true}, {"*.go", "a.goo", false},
		{"x/*.go", "x/a.go", true}, {"x/*.go", "x/y/a.go", false}, {"./x/*.go", "x/a.go", true},
		{"**/*.go", "a.go", true}, {"**/*.go", "x/y/a.go", true}, {"x/**", "x/y/z", true}, {"x/**", "y/z", false},
		{"x/**/z", "x/z", true}, {"x/**/z", "x/a/b/z", true}, {"x/**/z", "x/a/b/zz", false},
		{"**/a/**/b", "a/a/c/b", true}, {"**/a/**/b", "c/b/a", false}, {"**", "x/y", true},
	} {
		g, err := newGlob(c.pattern)
		if err != nil || g.match(c.name) != c.want {
			t.Errorf("%s on %s: %v, want %v", c.pattern, c.name, err, c.want)
		}
	}
}
