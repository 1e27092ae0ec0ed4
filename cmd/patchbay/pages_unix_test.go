//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestPageOfDotagent types docs/protocols/dotagent.md.
func TestPageOfDotagent(t *testing.T) {
	for _, tool := range []string{"bash", "jq", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/protocols/dotagent.md")
}

// TestPageOfJobs types docs/jobs.md.
func TestPageOfJobs(t *testing.T) { typePage(t, "docs/jobs.md") }

// TestPageOfScaffold types docs/protocols/scaffold.md.
func TestPageOfScaffold(t *testing.T) {
	for _, tool := range []string{"bash", "jq", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/protocols/scaffold.md")
}

// TestPageOfPython types docs/protocols/python.md.
func TestPageOfPython(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	typePage(t, "docs/protocols/python.md")
}

// TestPageOfMine types docs/protocols/mine.md.
func TestPageOfMine(t *testing.T) {
	for _, tool := range []string{"bash", "python3", "git"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "docs/protocols/mine.md")
}

// TestPageOfKaged types docs/protocols/kaged.md.
func TestPageOfKaged(t *testing.T) {
	for _, tool := range []string{"bash", "python3", "go"} {
		plugtest.NeedTool(t, tool)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // a new one would be filled with the whole library first
	if err != nil {
		t.Fatal(err)
	}
	typePage(t, "docs/protocols/kaged.md", "GOCACHE="+strings.TrimSpace(string(cache)), "CGO_ENABLED=0", "GOTOOLCHAIN=local")
}

// typePage goes through a page in a home of its own.
func typePage(t *testing.T, path string, environ ...string) {
	t.Helper()
	page := plugtest.Page(t, path)
	home := t.TempDir()
	page.Type(home, append(patchbayIn(home).Env, environ...), strings.NewReplacer(home, "~"))
}
