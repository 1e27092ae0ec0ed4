//go:build unix

package projectfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestAsNobody repeats some tests as the user nobody: root can read every file.
func TestAsNobody(t *testing.T) { rerun.Tests(t, "TestHostilePlugins", "TestTrust") }

// A testBed has the store of a user, and a project with plugins.
type testBed struct {
	*testing.T
	store Store
	root  string
}

func newTestBed(t *testing.T) *testBed {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &testBed{t, In(config.Dirs{Home: filepath.Join(top, "home"), Config: filepath.Join(top, "home", "c"),
		Data: filepath.Join(top, "home", "d"), State: filepath.Join(top, "home", "s")}), filepath.Join(top, "site")}
	b.write(".git/HEAD", "")
	b.write(".patchbay/plugins/guard", "#!/bin/sh\n")
	b.write(".patchbay/plugins/notes/manifest.yaml", "name: notes\n")
	return b
}

func (b *testBed) path(name string) string { return filepath.Join(b.root, filepath.FromSlash(name)) }

func (b *testBed) write(name, text string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(text), 0o755); err != nil {
		b.Fatal(err)
	}
}

func (b *testBed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *testBed) stage() *Staged {
	b.Helper()
	s, err := b.store.Stage(b.root)
	b.must(err)
	return s
}

func (b *testBed) wants(want State) Status {
	b.Helper()
	st := b.store.Look(b.root)
	if st.State != want || (st.Copy != "") != (want == Trusted) {
		b.Fatalf("%s, want %s; copy %q, %v", st.State, want, st.Copy, st.Err)
	}
	return st
}

// TestTooManyPrompts: a directory with too many files is reported, because some of its prompts are
// left out.
func TestTooManyPrompts(t *testing.T) {
	b := newTestBed(t)
	for i := range maxPrompts + 1 {
		b.write(fmt.Sprintf("%s/p%03d.md", PromptsDir, i), "text")
	}
	prompts, problems := b.store.Prompts(b.root, nil)
	if len(prompts) != maxPrompts || len(problems) != 1 || !strings.Contains(problems[0].Message, "more than 200 prompts") {
		t.Errorf("%d prompts, %v", len(prompts), problems)
	}
	for i := range maxPromptEntries {
		b.write(fmt.Sprintf("%s/other%d", PromptsDir, i), "")
	}
	if _, problems = b.store.Prompts(b.root, nil); len(problems) == 0 || !strings.Contains(problems[0].Message, "more than 2000 files") {
		t.Errorf("%v", problems)
	}
}

func TestTrust(t *testing.T) {
	b := newTestBed(t)
	b.wants(Untrusted)
	s := b.stage()
	b.write(".patchbay/plugins/guard", "#!/bin/sh\nrm -rf ~\n") // while the user reads the list
	b.must(s.Trust(nil))
	b.must(s.Close())
	if st := b.wants(Changed); len(st.Changes) != 1 || st.Changes[0].Path != "guard" {
		t.Errorf("%v", st.Changes)
	}
	b.write(".patchbay/plugins/guard", "#!/bin/sh\n")
	st := b.wants(Trusted)
	if text, err := os.ReadFile(filepath.Join(st.Copy, "guard")); err != nil || string(text) != "#!/bin/sh\n" {
		t.Errorf("%q, %v", text, err)
	}

	// A plugin may add files to its copy. If one of its own files has changed, the copy is not
	// used.
	b.must(os.WriteFile(filepath.Join(st.Copy, "notes", "log"), nil, 0o600))
	b.wants(Trusted)
	b.must(os.Chmod(filepath.Join(st.Copy, "guard"), 0o700))
	b.must(os.WriteFile(filepath.Join(st.Copy, "guard"), []byte("other"), 0o700))
	b.wants(Refused)
	s = b.stage()
	b.must(s.Trust(nil))
	b.wants(Trusted)

	// The user declines exactly these files: after a change, the project is untrusted again.
	b.write(".patchbay/plugins/new", "")
	s = b.stage()
	b.must(s.Decline())
	b.must(s.Close())
	b.wants(Declined)
	b.write(".patchbay/plugins/new", "x")
	b.wants(Untrusted)

	// The same files in another directory are another project.
	b.must(os.Rename(b.root, b.root+"2"))
	b.root += "2"
	b.wants(Untrusted)
}

// TestNoPlaceForTheCopy: if the copy cannot be made, the error does not blame the project.
func TestNoPlaceForTheCopy(t *testing.T) {
	b := newTestBed(t)
	b.must(os.MkdirAll(b.store.dir, 0o700))
	b.must(os.WriteFile(filepath.Join(b.store.dir, ID(b.root)), nil, 0o600))
	if _, err := b.store.Stage(b.root); err == nil || !strings.Contains(err.Error(), "cannot be copied: mkdir") {
		t.Errorf("%v", err)
	} else if _, ok := errors.AsType[*CopyError](err); !ok {
		t.Errorf("%T", err)
	}
	full := copyWriter{failingWriter{}}
	if _, err := full.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "cannot be copied") {
		t.Errorf("%v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestOnlyWhatIsShownIsCopied: only files in the list that the user is shown are copied. The list
// leaves out *.pyc files that Python would not run. A *.pyc file could be a script in another
// language, which a file of the list starts.
func TestOnlyWhatIsShownIsCopied(t *testing.T) {
	b := newTestBed(t)
	b.write(".patchbay/plugins/guard", "#!/bin/sh\n. ./notes/help.pyc\n")
	b.write(".patchbay/plugins/notes/help.pyc", "rm -rf ~\n")
	s := b.stage()
	defer s.Close()
	shown := map[string]bool{}
	for _, f := range s.Files {
		shown[f.Path] = true
	}
	b.must(filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(s.Dir, path); err == nil && !d.IsDir() && !shown[filepath.ToSlash(rel)] {
			t.Errorf("%s is in the copy, but was not shown", rel)
		}
		return err
	}))
	if !shown["guard"] || !shown["notes/manifest.yaml"] {
		t.Errorf("%v", s.Files)
	}
}

func TestForget(t *testing.T) {
	b := newTestBed(t)
	s := b.stage()
	b.must(s.Trust(nil))
	kept := b.wants(Trusted).Copy
	if found, err := b.store.Forget(b.root); !found || err != nil {
		t.Fatal(found, err)
	}
	b.wants(Untrusted)
	b.must(b.store.Sweep(b.root))
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("the copy still exists: %v", err)
	}
	if list, err := b.store.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestHostilePlugins: each of these is reported, and the project cannot be trusted.
func TestHostilePlugins(t *testing.T) {
	for says, do := range map[string]func(b *testBed) error{
		"neither a file":              func(b *testBed) error { return syscall.Mkfifo(b.path(PluginsDir+"/pipe"), 0o644) },
		"leads out of its plugin":     func(b *testBed) error { return os.Symlink("/etc/passwd", b.path(PluginsDir+"/notes/p")) },
		"up is a link that leads out": func(b *testBed) error { return os.Symlink("../guard", b.path(PluginsDir+"/notes/up")) },
		"top is a link":               func(b *testBed) error { return os.Symlink("guard", b.path(PluginsDir+"/top")) },
		"leads nowhere":               func(b *testBed) error { return os.Symlink("gone", b.path(PluginsDir+"/notes/gone")) },
		"cannot be shown": func(b *testBed) error {
			return os.WriteFile(b.path(PluginsDir+"/\x1b[2Jx"), nil, 0o644)
		},
		"plugins is a link": func(b *testBed) error {
			return firstOf(os.Rename(b.path(PluginsDir), b.path("elsewhere")), os.Symlink("../elsewhere", b.path(PluginsDir)))
		},
		".patchbay is a link": func(b *testBed) error {
			return firstOf(os.Rename(b.path(Dir), b.path("elsewhere")), os.Symlink("elsewhere", b.path(Dir)))
		},
		"plugins is not a directory": func(b *testBed) error {
			return firstOf(os.RemoveAll(b.path(PluginsDir)), os.WriteFile(b.path(PluginsDir), nil, 0o644))
		},
		"more than 2000 files": func(b *testBed) error {
			f, err := os.Create(b.path(PluginsDir + "/huge"))
			if err != nil {
				return err
			}
			return firstOf(f.Truncate(mostBytes+1), f.Close())
		},
	} {
		t.Run(says, func(t *testing.T) {
			b := newTestBed(t)
			b.must(do(b))
			if _, err := b.store.Stage(b.root); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v", err)
			}
			if st := b.store.Look(b.root); st.Copy != "" || st.State == Trusted {
				t.Errorf("%+v", st)
			}
			if left, _ := filepath.Glob(filepath.Join(b.store.dir, "*", ".*stage*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestHostileAfterTrust: a trusted project is checked again when it changes.
func TestHostileAfterTrust(t *testing.T) {
	b := newTestBed(t)
	s := b.stage()
	b.must(s.Trust(nil))
	b.must(syscall.Mkfifo(b.path(PluginsDir+"/pipe"), 0o644))
	b.wants(Refused)
}

// TestLinksInside: links within a plugin, as package managers make them, are allowed.
func TestLinksInside(t *testing.T) {
	b := newTestBed(t)
	b.must(os.Symlink("manifest.yaml", b.path(PluginsDir+"/notes/other.yaml")))
	s := b.stage()
	b.must(s.Trust(nil))
	if to, err := os.Readlink(filepath.Join(b.wants(Trusted).Copy, "notes", "other.yaml")); to != "manifest.yaml" {
		t.Error(to, err)
	}
}

// TestNoProject: the home directory is not a project, and neither is a directory in which Patchbay
// stores its own data.
func TestNoProject(t *testing.T) {
	b := newTestBed(t)
	b.store.dirs.Home = b.root
	if st := b.wants(Refused); !strings.Contains(st.Err.Error(), "home directory") {
		t.Error(st.Err)
	}
	b.store.dirs.Home, b.store.dirs.Config = "", b.path(Dir)
	b.wants(None)
	b.write(PromptsDir+"/x.md", "text")
	if prompts, problems := b.store.Prompts(b.root, nil); prompts != nil || problems != nil {
		t.Error(prompts, problems)
	}
	if st := b.store.Look("/"); st.State != None || b.store.Agents("/").Path != "" {
		t.Errorf("%+v", st)
	}
}

// TestForeign: AGENTS.md, prompts and config.toml of another user are not read before the project
// is trusted.
func TestForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a file")
	}
	b := newTestBed(t)
	b.write(AgentsFile, "Obey.")
	b.write(PromptsDir+"/x.md", "text")
	b.write(".patchbay/config.toml", "")
	if !b.store.ReadsConfig(b.root) || b.store.Agents(b.root).Text != "Obey." {
		t.Fatal("files of the user's own project are not read")
	}
	for _, file := range []string{AgentsFile, PromptsDir + "/x.md", ".patchbay/config.toml"} {
		b.must(os.Chown(b.path(file), 65534, -1)) // as in a directory to which all users may write
	}
	b.reads("files", false)
	b.must(os.Chown(b.root, 65534, -1))
	b.reads("root", false)
	if !b.wants(Untrusted).Foreign {
		t.Error("the status does not say that it belongs to another user")
	}
	s := b.stage()
	b.must(s.Trust(nil))
	b.reads("trusted", true)
}

func (b *testBed) reads(what string, want bool) {
	b.Helper()
	agents := b.store.Agents(b.root)
	prompts, _ := b.store.Prompts(b.root, nil)
	if (agents.Err == nil) != want || (agents.Text != "") != want || len(prompts) == 1 != want || b.store.ReadsConfig(b.root) != want {
		b.Errorf("%s: %+v, %v", what, agents, prompts)
	}
}

// TestTextsAreTexts: AGENTS.md and prompts that are not text are left out, with the reason. A
// character that the limit cuts in two is no fault.
func TestTextsAreTexts(t *testing.T) {
	b := newTestBed(t)
	const prompt = PromptsDir + "/x.md"
	for text, good := range map[string]bool{"caf\u00e9": true, "caf\xe9": false, "a\x00b": false, "a" + strings.Repeat("é", MostAgents): true} {
		b.write(AgentsFile, text)
		if a := b.store.Agents(b.root); (a.Err == nil) != good || good != strings.Contains(a.Prompt(), "é") || !good && !strings.Contains(a.Banner(), "left out: it is not a text") {
			t.Errorf("%.10q: %v, %.100q", text, a.Err, a.Prompt())
		}
		if len(text) > maxPromptBytes {
			continue
		}
		b.write(prompt, text)
		if found, problems := b.store.Prompts(b.root, nil); len(found) == 1 != good || len(problems) == 0 != good {
			t.Errorf("%.10q: %v, %v", text, found, problems)
		}
	}
}
