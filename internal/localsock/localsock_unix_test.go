//go:build unix

package localsock

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// stranger and squatter are two users without rights. Their ids need no names.
const stranger, squatter = 65534, 65533

// TestMain also runs as another user: this program with a verb and a path.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 {
		goleak.VerifyTestMain(m)
		return
	}
	path := os.Args[2]
	switch os.Args[1] {
	case "dial":
		say(ask(path))
	case "listen":
		stop, err := welcome(path)
		say(err)
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends it
		if err == nil {
			stop()
		}
	}
}

func say(err error) {
	if err == nil {
		fmt.Println("ok")
		return
	}
	fmt.Println(err)
}

// ask connects without the checks of Dial, and waits for an answer.
func ask(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	if word, err := io.ReadAll(conn); err != nil || string(word) != "welcome" {
		return fmt.Errorf("connected, and turned away: %q, %w", word, err)
	}
	return nil
}

// other returns this program as a command for another user.
func other(t *testing.T, uid uint32, verb, path string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	data, err := os.ReadFile(os.Args[0]) // the original may lie where others cannot read it
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(openTemp(t), "other")
	if err := os.WriteFile(self, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, verb, path)
	cmd.Env, cmd.Dir = []string{"TMPDIR=" + os.TempDir()}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

// as runs the command and returns its output.
func as(t *testing.T, uid uint32, verb, path string) string {
	t.Helper()
	out, err := other(t, uid, verb, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// openTemp returns a directory that every user can reach, with a path that is short enough for a
// socket.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	chmod(t, dir, 0o755)
	return dir
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// chown changes the owner of a path. It does not follow a link.
func chown(t *testing.T, path string, uid int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can change the owner of a file")
	}
	if err := os.Lchown(path, uid, uid); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

// welcome listens, and greets processes of the same user.
func welcome(path string) (stop func(), err error) {
	l, err := Listen(path)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			if CheckPeer(conn) == nil {
				_, _ = io.WriteString(conn, "welcome") // the client reports whether it arrived
			}
			conn.Close()
		}
	}()
	return func() {
		l.Close()
		<-done
	}, nil
}

func host(t *testing.T, path string) {
	t.Helper()
	stop, err := welcome(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
}

func TestOtherUsersAreKeptOut(t *testing.T) {
	t.Run("by the directory, which only the user may enter", func(t *testing.T) {
		path := filepath.Join(openTemp(t), "state", "s")
		host(t, path)
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := ask(path); err != nil {
			t.Errorf("the user's own process: %v", err)
		}
		if got := as(t, stranger, "dial", path); !strings.Contains(got, "permission denied") {
			t.Errorf("a stranger: %s", got)
		}
	})
	t.Run("by the socket's mode, if the directory is open", func(t *testing.T) {
		path := filepath.Join(openTemp(t), "s")
		host(t, path)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if got := as(t, stranger, "dial", path); !strings.Contains(got, "permission denied") {
			t.Errorf("a stranger: %s", got)
		}
	})
	t.Run("by the kernel's check, if the modes were changed", func(t *testing.T) {
		if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
			t.Skip("the kernel does not report the peer")
		}
		path := filepath.Join(openTemp(t), "s")
		host(t, path)
		chmod(t, path, 0o777)
		if got := as(t, stranger, "dial", path); !strings.HasPrefix(got, "connected, and turned away") {
			t.Errorf("a stranger: %s", got)
		}
	})
}

// TestSquatters: a place that another user has prepared is refused.
func TestSquatters(t *testing.T) {
	refused := func(t *testing.T, path, reason string) {
		t.Helper()
		if l, err := Listen(path); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("listen: %v, %v; want %q", l, err, reason)
		}
		if conn, err := Dial(path); err == nil {
			t.Errorf("dial: %v", conn.RemoteAddr())
		}
	}
	t.Run("a directory in which everybody may write", func(t *testing.T) {
		refused(t, filepath.Join(mkdir(t, filepath.Join(openTemp(t), "d"), 0o777), "s"), "everybody may write there")
	})
	t.Run("also with the sticky bit", func(t *testing.T) {
		refused(t, filepath.Join(mkdir(t, filepath.Join(openTemp(t), "d"), 0o777|os.ModeSticky), "s"), "everybody may write there")
	})
	t.Run("a link to such a directory", func(t *testing.T) {
		dir := openTemp(t)
		link(t, mkdir(t, filepath.Join(dir, "d"), 0o777), filepath.Join(dir, "link"))
		refused(t, filepath.Join(dir, "link", "s"), "everybody may write there")
	})
	t.Run("a file in the socket's place stays", func(t *testing.T) {
		path := filepath.Join(openTemp(t), "s")
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, path, "is not a socket")
		if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
			t.Errorf("%q, %v", text, err)
		}
	})
	t.Run("a link in the socket's place is not followed", func(t *testing.T) {
		dir := openTemp(t)
		path, elsewhere := filepath.Join(dir, "s"), filepath.Join(dir, "elsewhere")
		link(t, elsewhere, path)
		refused(t, path, "is not a socket")
		if _, err := os.Lstat(elsewhere); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file was created at the target of the link: %v", err)
		}
	})
	t.Run("a socket that a dead process left is replaced", func(t *testing.T) {
		path := filepath.Join(openTemp(t), "s")
		left, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		left.SetUnlinkOnClose(false)
		left.Close()
		host(t, path)
		if err := ask(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("a directory that cannot be inspected", func(t *testing.T) {
		refused(t, filepath.Join(openTemp(t), "s", strings.Repeat("x", 300), "s"), "")
	})
}

// TestSquattersOfAnOrdinaryUser runs as an ordinary user, because root may work anywhere.
func TestSquattersOfAnOrdinaryUser(t *testing.T) {
	t.Run("another user's directory", func(t *testing.T) {
		dir := mkdir(t, filepath.Join(openTemp(t), "d"), 0o755)
		chown(t, dir, squatter)
		if got := as(t, stranger, "listen", filepath.Join(dir, "s")); !strings.Contains(got, "belongs to user 65533") {
			t.Error(got)
		}
	})
	t.Run("another user's link to the user's own directory", func(t *testing.T) {
		base := openTemp(t)
		dir, alias := mkdir(t, filepath.Join(base, "d"), 0o700), filepath.Join(base, "link")
		chown(t, dir, stranger)
		link(t, dir, alias)
		chown(t, alias, squatter)
		if got := as(t, stranger, "listen", filepath.Join(alias, "s")); !strings.Contains(got, "belongs to user 65533") {
			t.Error(got)
		}
		chown(t, alias, stranger)
		if got := as(t, stranger, "listen", filepath.Join(alias, "s")); got != "ok" {
			t.Errorf("the user's own link: %s", got)
		}
	})
	t.Run("the directory for long names, made by another user", func(t *testing.T) {
		base := openTemp(t)
		t.Setenv("TMPDIR", base)
		t.Setenv("XDG_RUNTIME_DIR", "")
		dir := mkdir(t, filepath.Join(base, fmt.Sprintf("patchbay-%d", stranger)), 0o777)
		chown(t, dir, squatter)
		if got := as(t, stranger, "listen", filepath.Join(dir, "s")); !strings.Contains(got, "belongs to user 65533") {
			t.Error(got)
		}
		chown(t, dir, stranger)
		if got := as(t, stranger, "listen", filepath.Join(dir, "s")); !strings.Contains(got, "open to others") {
			t.Error(got)
		}
		chmod(t, dir, 0o700)
		if got := as(t, stranger, "listen", filepath.Join(dir, "s")); got != "ok" {
			t.Error(got)
		}
	})
	t.Run("a link in the place of that directory", func(t *testing.T) {
		base := openTemp(t)
		t.Setenv("TMPDIR", base)
		dir, alias := mkdir(t, filepath.Join(base, "d"), 0o700), filepath.Join(base, fmt.Sprintf("patchbay-%d", stranger))
		chown(t, dir, stranger)
		link(t, dir, alias)
		if got := as(t, stranger, "listen", filepath.Join(alias, "s")); !strings.Contains(got, "not a directory") {
			t.Error(got)
		}
	})
}

// TestDialLooksAtWhoListens: a client does not connect to another user's daemon.
func TestDialLooksAtWhoListens(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the kernel does not report the peer")
	}
	path := filepath.Join(openTemp(t), "s")
	chown(t, filepath.Dir(path), stranger)
	cmd := other(t, stranger, "listen", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, len("ok"))
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "ok" {
		t.Errorf("%q, %v", ready, err)
	}
	if conn, err := Dial(path); err == nil || !strings.Contains(err.Error(), "belongs to user 65534, not 0") {
		t.Errorf("%v, %v", conn, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
