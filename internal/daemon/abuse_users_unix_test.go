//go:build unix

package daemon

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// TestOtherUsersOnTheSockets checks that only the user can use the sockets of daemon and engine,
// also with loose file modes.
func TestOtherUsersOnTheSockets(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	base, err := os.MkdirTemp("", "pb") // other users cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	h := testHome{t, filepath.Join(base, "home")}
	h.write("x", "")
	s := h.serve("", Limits{})
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(base, "other")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	other := func(socket string) string {
		cmd := exec.Command(program)
		cmd.Env, cmd.Dir = []string{dialerPath + "=" + socket}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	sockets := []string{s.socket, filepath.Join(s.Dirs.Data, "engine", "engine.sock")}
	for _, socket := range sockets {
		if got := other(socket); !strings.Contains(got, "permission denied") {
			t.Errorf("%s: %s", socket, got)
		}
	}
	loosen(t, base)
	for _, socket := range sockets {
		if got := other(socket); !strings.HasPrefix(got, "connected, 0 bytes") {
			t.Errorf("with loose modes, %s: %s", socket, got)
		}
	}
	if got := s.overSocket("/v1/health"); got.status != 200 {
		t.Errorf("the user's own program: %+v", got)
	}
}

// TestSandboxesOnTheSockets checks that a plugin in a sandbox cannot use the sockets of daemon and
// engine, even if it could reach them.
func TestSandboxesOnTheSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is a sandbox on Linux only")
	}
	s := newTestHome(t).serve("", Limits{})
	dial := func(name, socket string) string {
		cmd := exec.Command(os.Args[0])
		cmd.Args[0], cmd.Env = name, []string{dialerPath + "=" + socket}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	engine := filepath.Join(s.Dirs.Data, "engine", "engine.sock")
	for _, name := range []string{jail.Outer, jail.Middle, jail.Inner} {
		if got := dial(name, s.socket); !strings.Contains(got, "403 Forbidden") {
			t.Errorf("%s at the daemon's: %s", name, got)
		}
		if got := dial(name, engine); !strings.HasPrefix(got, "connected, 0 bytes") {
			t.Errorf("%s at the engine's: %s", name, got)
		}
	}
	if got := dial("bwrap", s.socket); !strings.Contains(got, "200 OK") {
		t.Errorf("another program at the daemon's: %s", got)
	}
	if got := dial("bwrap", engine); !strings.Contains(got, "INFO") {
		t.Errorf("another program at the engine's: %s", got)
	}
	if !strings.Contains(s.log.String(), "the caller is in a sandbox of Patchbay's") {
		t.Errorf("the log does not say so: %s", s.log)
	}
}

// loosen opens all files and directories to all users.
func loosen(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(path, 0o777)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatTheDaemonKeepsIsPrivate checks that no other user can look into the directories that the
// daemon makes.
func TestWhatTheDaemonKeepsIsPrivate(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	s.session()
	for _, dir := range []string{s.Dirs.State, filepath.Join(s.Dirs.Data, "engine")} {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	err := filepath.WalkDir(s.Dirs.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && path != s.Dirs.Data && info.Mode().Perm()&0o007 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAPlaceThatIsNotSafe checks that the daemon does not start in directories that other users
// could have written to.
func TestAPlaceThatIsNotSafe(t *testing.T) {
	for _, c := range []struct{ rule, dir, want string }{
		{"everybody may write where the state is", ".local/state/patchbay", "everybody may write there"},
		{"everybody may write where the data is", ".local/share/patchbay/engine", "everybody may write there"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			dir := filepath.Join(h.home, c.dir)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			core, err := Open(t.Context(), h.options())
			if err == nil {
				h.close(core)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
