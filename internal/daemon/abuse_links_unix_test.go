//go:build unix

package daemon

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func (h testHome) link(target, path string) {
	h.t.Helper()
	path = filepath.Join(h.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		h.t.Fatal(err)
	}
}

// sources returns the names of the Python plugins that the daemon lists.
func (s *served) sources() []string {
	s.t.Helper()
	var list struct{ Plugins []struct{ Name string } }
	if err := json.Unmarshal([]byte(s.do("GET", "/plugin/list", "").body), &list); err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, p := range list.Plugins {
		names = append(names, p.Name)
	}
	return names
}

// save saves a plugin.
func (s *served) save(name string) reply {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"name": name, "content": stamp(name)})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do("POST", "/plugin/save", string(body))
}

// Every link of these tests points to a file of the test itself, because a daemon that runs as root
// and follows the link would overwrite the target.

// TestLinks checks links in a plugin directory. A link to a plugin is a plugin, because a user who
// can make a link there could also put a program there. A client that deletes it deletes only the
// link, and nothing is saved through a link.
func TestLinks(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := testHome{t, filepath.Join(t.TempDir(), "home")}
	outside := h.write("../outside/linked.py", stamp("linked"))
	precious := h.write("../outside/precious", "precious\n")
	h.link(outside, ".agent/plugins/linked.py")
	h.link(precious, ".agent/plugins/victim.py")
	h.link("nowhere.py", ".agent/plugins/dangling.py")
	h.link("loop2.py", ".agent/plugins/loop1.py")
	h.link("loop1.py", ".agent/plugins/loop2.py")
	h.link(filepath.Dir(outside), ".agent/plugins/folder.py")
	plugtest.NamedPipe(t, filepath.Join(h.home, "pipe"))
	h.link(filepath.Join(h.home, "pipe"), ".agent/plugins/pipe.py")
	s := h.serve("", Limits{})
	if _, err := s.Features.Set(t.Context(), feature.Plugins, true); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, filepath.Dir(outside))
	t.Run("links to files are plugins, not links to each other, to directories or to pipes", func(t *testing.T) {
		if got := s.sources(); !slices.Equal(got, []string{"dangling", "linked", "victim"}) {
			t.Errorf("listed %q", got)
		}
	})
	t.Run("a link to nowhere is listed with its error", func(t *testing.T) {
		if got := s.do("GET", "/plugin/list", ""); !strings.Contains(got.body, `{"name":"dangling","hooks":[],"metadata":{},"error":"`) || !strings.Contains(got.body, "no such file") {
			t.Errorf("%s", got.body)
		}
	})
	for _, name := range []string{"linked", "victim", "dangling", "loop1", "folder", "pipe"} {
		t.Run("nothing is saved through a link: "+name, func(t *testing.T) {
			if got := s.save(name); got.status != http.StatusBadRequest || !strings.Contains(got.body, "the plugin's file is a link") {
				t.Errorf("%d %s", got.status, got.body)
			}
			if info, err := os.Lstat(filepath.Join(h.home, ".agent/plugins", name+".py")); err != nil || info.Mode().Type() != os.ModeSymlink {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
	t.Run("deleting removes the link", func(t *testing.T) {
		h.link(outside, ".agent/plugins/again.py")
		if got := s.do("DELETE", "/plugin/again", ""); got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
		if _, err := os.Lstat(filepath.Join(h.home, ".agent/plugins/again.py")); !os.IsNotExist(err) {
			t.Errorf("the link: %v", err)
		}
	})
	t.Run("a plugin can be saved in place of the deleted link", func(t *testing.T) {
		if got := s.save("again"); got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	t.Run("while patchbay.lock is damaged, nothing is deleted, and the answer says why", func(t *testing.T) {
		lock := filepath.Join(h.home, ".config/patchbay/patchbay.lock")
		good, err := os.ReadFile(lock)
		if err != nil {
			t.Fatal(err)
		}
		h.write(".config/patchbay/patchbay.lock", "[[[")
		if got := s.do("DELETE", "/plugin/again", ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "put back a good copy") {
			t.Errorf("%d %s", got.status, got.body)
		}
		h.write(".config/patchbay/patchbay.lock", string(good))
	})
	t.Run("a file that is too large to show is not read", func(t *testing.T) {
		if err := os.Truncate(h.write(".agent/plugins/huge.py", stamp("huge")), 1<<40); err != nil {
			t.Skipf("no such file here: %v", err)
		}
		if got := s.do("GET", "/plugin/huge", ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "has more than 4 MiB") {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	before.same(t, snapshot(t, filepath.Dir(outside)))
}

func TestALinkedPluginDirectory(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := testHome{t, filepath.Join(t.TempDir(), "home")}
	real := filepath.Dir(h.write("../dotfiles/plugins/one.py", stamp("one")))
	h.link(real, ".agent/plugins")
	s := h.serve("", Limits{})
	if _, err := s.Features.Set(t.Context(), feature.Plugins, true); err != nil {
		t.Fatal(err)
	}
	if got := s.sources(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("a directory that the user linked is the user's choice: %q", got)
	}
	if got := s.save("two"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if _, err := os.Stat(filepath.Join(real, "two.py")); err != nil {
		t.Error(err)
	}
}

// TestOddFiles checks that files with odd names are listed with an error or left out, and escaped
// in the log.
func TestOddFiles(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	odd := []string{"line\nbreak", "escape\x1b[2J", "right\u202eleft", "space bar", "quote\"s", "-dash", "bad\xffutf8", strings.Repeat("n", 200)}
	for _, name := range odd {
		h.write(".agent/plugins/"+name+".py", stamp("odd"))
		h.write(".config/patchbay/agents/"+name+"/agent.toml", "[agent]\nnam = 1\n")
	}
	h.write(".agent/plugins/fine.py", stamp("fine"))
	s := h.serve("", Limits{})
	for _, path := range []string{"/plugin/list", "/v1/plugins", "/v1/doctor", "/v1/jobs", "/metrics"} {
		got := s.do("GET", path, "")
		if got.status != http.StatusOK || strings.Contains(got.body, "\x1b") || !utf8.ValidString(got.body) {
			t.Errorf("%s: %d %q", path, got.status, got.body)
		}
	}
	if !slices.Contains(s.sources(), "fine") {
		t.Errorf("a neighbour suffers: %q", s.sources())
	}
	if log := s.log.String(); strings.Contains(log, "\x1b") || strings.Contains(log, "line\nbreak") {
		t.Errorf("the log has them raw: %q", log)
	}
}
