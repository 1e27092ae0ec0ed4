//go:build unix

package plugininstall

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// childVariable makes the test binary a process that installs the named source, and waits at a
// chosen moment.
const childVariable = "PLUGININSTALL_TEST_CHILD"

func TestMain(m *testing.M) {
	if at := os.Getenv(childVariable); at != "" {
		installAndWait(at)
		return
	}
	os.Exit(m.Run())
}

// repo is a git repository with some files.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T, files map[string]string) repo {
	t.Helper()
	plugtest.NeedTool(t, "git")
	r := repo{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	write(t, r.dir, files)
	r.commit()
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	return r.feed("", args...)
}

func (r repo) feed(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) commit() { r.git("add", "-A"); r.git("commit", "--quiet", "-m", "x") }

// TestGit: a branch, a tag, a commit. The lock has the ref and its commit.
func TestGit(t *testing.T) {
	r := newRepo(t, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
	first := r.git("rev-parse", "HEAD")
	r.git("tag", "v1")
	write(t, r.dir, map[string]string{"more": "x"})
	r.commit()
	const at = ".local/share/kaged/plugins/notes/"
	for ref, more := range map[string]bool{"v1": false, "main": true, first: false} {
		h := newTestHome(t)
		placed, err := h.install(r.dir+"@"+ref, PlaceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if more {
			h.wants(at+"manifest.yaml", at+"more", at+"notes.sh*")
		} else {
			h.wants(at+"manifest.yaml", at+"notes.sh*")
		}
		lock, err := trust.Load(h.o.Dirs.LockFile)
		if err != nil || lock.Entries[0].Origin.Ref != ref || lock.Entries[0].Origin.Commit != placed[0].Commit || !more && placed[0].Commit != first {
			t.Errorf("%+v, %v", lock.Entries[0], err)
		}
	}
	if _, err := newTestHome(t).install(r.dir+"@none", PlaceOptions{}); err == nil || !strings.Contains(err.Error(), "couldn't find remote ref") {
		t.Errorf("%v", err)
	}
}

// TestHostileGit: no program that a repository, or a user's configuration of git, names is run;
// nothing is written outside.
func TestHostileGit(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	trap := "touch " + ran
	r := newRepo(t, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script, ".gitattributes": "* filter=evil diff=evil\n*.big filter=lfs\n",
		"model.big": string(lfsPointer) + "oid sha256:x\nsize 1\n", ".gitmodules": "[submodule \"s\"]\npath = s\nurl = https://example.org/s\n"})
	r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",s")
	r.git("commit", "--quiet", "-m", "submodule")
	for _, hook := range []string{"post-checkout", "post-merge", "pre-auto-gc", "reference-transaction", "post-upload-pack"} {
		write(t, filepath.Join(r.dir, ".git", "hooks"), map[string]string{hook: "#!/bin/sh\n" + trap + "\n"})
	}
	config := fmt.Sprintf("[filter \"evil\"]\nsmudge = %[1]s\nprocess = %[1]s\n[core]\nfsmonitor = %[1]s\nsshCommand = %[1]s\nalternateRefsCommand = %[1]s\n"+
		"[uploadpack]\npackObjectsHook = %[1]s\n[credential]\nhelper = !%[1]s\n[init]\ntemplateDir = /nowhere\n[protocol]\nallow = always\n", trap)
	write(t, filepath.Join(r.dir, ".git"), map[string]string{"config": "[core]\nrepositoryformatversion = 0\n" + config})
	h := newTestHome(t)
	write(t, h.home, map[string]string{".gitconfig": config, ".config/git/config": config, ".ssh/config": "ProxyCommand " + trap})
	placed, err := h.install(r.dir+"@main", PlaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository was run")
	}
	notes := strings.Join(placed[0].Notes, "\n")
	if !strings.Contains(notes, "a submodule") || !strings.Contains(notes, "Git LFS") {
		t.Errorf("notes %q", notes)
	}
	t.Run("a link out", func(t *testing.T) {
		r := newRepo(t, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
		if err := os.Symlink("../../evil", r.dir+"/link"); err != nil {
			t.Fatal(err)
		}
		r.commit()
		h := newTestHome(t)
		if _, err := h.install(r.dir+"@main", PlaceOptions{}); err == nil {
			t.Error("a hostile repository was installed")
		}
		h.wants()
	})
	t.Run("a submodule that would be updated with a program", func(t *testing.T) {
		r := newRepo(t, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script, ".gitmodules": "[submodule \"s\"]\npath = s\nurl = ext::" + trap + "\nupdate = !" + trap + "\n"})
		h := newTestHome(t)
		if _, err := h.install(r.dir+"@main", PlaceOptions{}); err == nil {
			t.Error("a hostile repository was installed")
		}
		h.wants()
	})
	t.Run("a few directories that contain billions of files", func(t *testing.T) {
		r := newRepo(t, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
		tree := r.git("rev-parse", "HEAD^{tree}")
		for range 10 {
			var list strings.Builder
			for i := range 10 {
				fmt.Fprintf(&list, "040000 tree %s\td%d\n", tree, i)
			}
			tree = r.feed(list.String(), "mktree")
		}
		r.git("update-ref", "refs/heads/bomb", r.git("commit-tree", "-m", "bomb", tree))
		h := newTestHome(t)
		if _, err := h.install(r.dir+"@bomb", PlaceOptions{}); err == nil || !strings.Contains(err.Error(), "too many files") {
			t.Errorf("%v", err)
		}
		h.wants()
	})
	t.Run("names that differ only in case", func(t *testing.T) {
		r := newRepo(t, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
		r.git("update-index", "--add", "--cacheinfo", "100644,"+r.git("hash-object", "-w", "manifest.yaml")+",x..y/A")
		r.git("update-index", "--add", "--cacheinfo", "100644,"+r.git("hash-object", "-w", "manifest.yaml")+",x..y/a")
		r.git("commit", "--quiet", "-m", "x")
		h := newTestHome(t)
		if _, err := h.install(r.dir+"@main", PlaceOptions{}); err == nil || !strings.Contains(err.Error(), "lower case") {
			t.Errorf("%v", err)
		}
		h.wants()
	})
}

// TestRepositoryWithObjectsElsewhere: a repository whose objects are in another one, or at a
// remote, runs nothing, and its own configuration has no effect.
func TestRepositoryWithObjectsElsewhere(t *testing.T) {
	files := map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script}
	ran := filepath.Join(t.TempDir(), "ran")
	trap := filepath.Join(t.TempDir(), "trap")
	write(t, filepath.Dir(trap), map[string]string{"trap": "#!/bin/sh\ntouch " + ran + "\nexit 1\n"})
	extra := func(lines string) string { return "[core]\n\trepositoryformatversion = 1\n" + lines }
	for name, prepare := range map[string]func(repo) bool{ // true: it can be installed
		"missing objects, and a promisor that is a program": func(r repo) bool {
			blob := r.git("rev-parse", "HEAD:notes.sh")
			if err := os.Remove(filepath.Join(r.dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
				t.Fatal(err)
			}
			write(t, r.dir+"/.git", map[string]string{"config": extra("[extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\tpromisor = true\n\turl = ext::" + trap +
				"\n\tuploadpack = " + trap + "\n[protocol \"ext\"]\n\tallow = always\n[protocol]\n\tallow = always\n")})
			return false
		},
		"missing objects, and a promisor over ssh": func(r repo) bool {
			blob := r.git("rev-parse", "HEAD:notes.sh")
			if err := os.Remove(filepath.Join(r.dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
				t.Fatal(err)
			}
			write(t, r.dir+"/.git", map[string]string{"config": extra("[extensions]\n\tpartialClone = evil\n[core]\n\tsshCommand = " + trap + "\n[remote \"evil\"]\n\tpromisor = true\n\turl = ssh://127.0.0.1/x\n")})
			return false
		},
		"alternates, and a program that lists their refs": func(r repo) bool {
			other := newRepo(t, map[string]string{"other": "x"})
			write(t, r.dir+"/.git", map[string]string{"objects/info/alternates": other.dir + "/.git/objects\n",
				"config": extra("[core]\n\talternateRefsCommand = " + trap + "\n")})
			return true
		},
		"alternates in a circle, and to nowhere": func(r repo) bool {
			write(t, r.dir+"/.git", map[string]string{"objects/info/alternates": r.dir + "/.git/objects\n/nowhere/objects\n../../.git/objects\n"})
			return true
		},
		"another configuration included, and a program for every file": func(r repo) bool {
			write(t, r.dir+"/.git", map[string]string{"more": "[core]\n\tfsmonitor = " + trap + "\n\thooksPath = " + filepath.Dir(trap) + "\n\tgitProxy = " + trap + "\n[uploadpack]\n\tpackObjectsHook = " + trap +
				"\n[gpg]\n\tprogram = " + trap + "\n[diff]\n\texternal = " + trap + "\n", "config": extra("[include]\n\tpath = more\n[core]\n\tworktree = /\n")})
			return true
		},
		"an extension that no git knows": func(r repo) bool {
			write(t, r.dir+"/.git", map[string]string{"config": extra("[extensions]\n\tnonsense = true\n")})
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t, files)
			good := prepare(r)
			h := newTestHome(t)
			_, err := h.install(r.dir+"@main", PlaceOptions{})
			if _, statErr := os.Stat(ran); statErr == nil {
				t.Error("a program of the repository was run")
			}
			if (err == nil) != good {
				t.Fatalf("%v", err)
			}
			if !good {
				h.wants()
			}
		})
	}
}

// installAndWait is a process that is killed in the middle of an installation. at has three lines:
// the source, the home, and the moment at which the process waits to be killed.
func installAndWait(at string) {
	fields := strings.Split(at, "\n")
	source, moment := fields[0], fields[2]
	h := &testHome{t: &testing.T{}, home: fields[1]}
	h.locate()
	wait := func() {
		fmt.Println("waits")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
	}
	s, err := ParseSource(source, h.home)
	if err != nil {
		panic(err)
	}
	if moment == "placed" {
		between = wait
	}
	h.o.Progress = func(text string) {
		if strings.HasPrefix(text, moment) {
			wait()
		}
	}
	f, err := Fetch(context.Background(), s, h.o)
	if err != nil {
		panic(err)
	}
	_, err = f.Place(context.Background(), f.Plugins[0], PlaceOptions{})
	panic(fmt.Sprint("it was not killed: ", err))
}

// TestKilled: the next installation removes everything that a killed one has left, and the plugin
// that was there before stays.
func TestKilled(t *testing.T) {
	source := t.TempDir()
	write(t, source, map[string]string{"shout.sh": script, "lib/x": "x"})
	for _, moment := range []string{"copying", "checking", "putting", "placed"} {
		t.Run(moment, func(t *testing.T) {
			h := newTestHome(t)
			killAt(t, h, source, moment)
			if err := Sweep(h.o); err != nil {
				t.Error(err)
			}
			h.wants()
			if _, err := h.install(source, PlaceOptions{}); err != nil {
				t.Fatal(err)
			}
			before := h.files()
			write(t, source, map[string]string{"lib/x": "new " + moment})
			killAt(t, h, source, moment)
			if err := Sweep(h.o); err != nil {
				t.Error(err)
			}
			h.wants(before...)
		})
	}
}

// killAt installs in another process, and kills it.
func killAt(t *testing.T, h *testHome, source, moment string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+source+"\n"+h.home+"\n"+moment)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no process can be started from /proc here: ", err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "waits\n" {
		t.Errorf("%q, %v", line, err)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait() // it was killed
	_ = stdin.Close()
}

// TestAsNobody runs tests again whose results may depend on the user.
func TestAsNobody(t *testing.T) {
	rerun.Tests(t, "TestHostileArchives", "TestHostileGit", "TestKilled", "TestReplace")
}
