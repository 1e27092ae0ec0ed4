//go:build unix

package main

import (
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

// typePage writes the files of a page into a home and types its commands there.
func typePage(t *testing.T, path string) {
	t.Helper()
	page := plugtest.Page(t, path)
	home := t.TempDir()
	page.Write(home)
	page.Type(home, patchbayIn(home).Env, strings.NewReplacer(home, "~"))
}
