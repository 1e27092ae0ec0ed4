package project

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoot(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	for _, dir := range []string{"repo/.git", "repo/a/b", "plain/a"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "repo", "part": "repo/a/b", "away": "plain/a", "repo/out": "plain"} {
		if err := os.Symlink(at(target), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{
		"repo": "repo", "repo/a/b": "repo", "plain/a": "plain/a",
		"link": "repo", "link/a": "repo", "part": "repo", "away": "plain/a",
		"repo/out": "plain", // a link belongs to the project of its target
		"gone":     "gone",
	} {
		if got := Root(at(dir)); got != at(want) {
			t.Errorf("%s belongs to %s, want %s", dir, got, at(want))
		}
	}
}
