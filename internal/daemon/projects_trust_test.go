package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// putIn writes a file into a project.
func putIn(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestEachProjectByItsOwnTrust checks that a daemon with two projects runs the plugins of the
// trusted one, and only there.
func TestEachProjectByItsOwnTrust(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	trusted, other := repository(t, "trusted"), repository(t, "other")
	for _, root := range []string{trusted, other} {
		putIn(t, root, ".patchbay/plugins/where", where)
	}
	trustIt := func(root string) {
		staged, err := projectfiles.In(c.Dirs).Stage(root)
		if err == nil {
			err = staged.Trust(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	trustIt(trusted)
	for root, want := range map[string]bool{trusted: true, other: false, h.home: false} {
		if got := h.enhanced(c, root); strings.Contains(got, `"at `+root+`"`) != want {
			t.Errorf("in %s: %s", root, got)
		}
	}
	trustIt(other)
	if err := c.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := h.enhanced(c, other); !strings.Contains(got, `"at `+other+`"`) {
		t.Errorf("after the project is trusted: %s", got)
	}
}

// TestInstructionsOfEachProject checks that a session's prompt contains the AGENTS.md of its own
// project.
func TestInstructionsOfEachProject(t *testing.T) {
	h := newTestHome(t)
	h.script("where", strings.ReplaceAll(where, "context_enhance", "pre_llm_send"))
	c := h.open("")
	for _, name := range []string{"one", "two"} {
		root := repository(t, name)
		putIn(t, root, "AGENTS.md", "We are "+name+".\n")
		s, err := c.Sessions.Create(t.Context(), session.Session{WorkingDir: root})
		if err != nil {
			t.Fatal(err)
		}
		var seen string
		if _, err := c.Turn(t.Context(), TurnRequest{Session: s.ID, Text: "hi", Observe: func(e chat.Event) {
			if e.Outcome != nil && e.Outcome.Point == hook.PromptSend {
				seen = string(e.Outcome.Payload)
			}
		}}); err != nil {
			t.Fatal(err)
		}
		if strings.Count(seen, "We are ") != 1 || !strings.Contains(seen, "We are "+name) {
			t.Errorf("%s: %s", name, seen)
		}
	}
}
