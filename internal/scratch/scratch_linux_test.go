package scratch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// childVariable makes the test binary a process that makes a directory and waits.
const childVariable = "SCRATCH_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		path, left, err := Make("test")
		fmt.Println(path, left, err)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		return
	}
	os.Exit(m.Run())
}

// child starts a process that makes a directory.
func child(t *testing.T) (path string, kill func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || rest != "<nil> <nil>" {
		t.Fatalf("%q, %v", line, err)
	}
	dead := false
	kill = func() {
		if !dead {
			_, _, _ = cmd.Process.Kill(), cmd.Wait(), stdin.Close()
			dead = true
		}
	}
	t.Cleanup(kill)
	return path, kill
}

// TestSweep: the next process removes the directory of a killed process, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	gone, kill := child(t)
	alive, _ := child(t)
	secret := filepath.Join(t.TempDir(), "file")
	for _, err := range []error{os.WriteFile(secret, nil, 0o600), os.MkdirAll(gone+"/a/b/c", 0o700), os.Symlink(filepath.Dir(secret), gone+"/link"), os.WriteFile(gone+"/a/file", nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	stays := map[string]string{"of a running process": alive}
	name := filepath.Base(gone)
	other := digest("another boot")
	for why, n := range map[string]string{
		"of another machine or boot": strings.Replace(name, digest(lease.Self().Machine), other, 1),
		"without an owner":           "patchbay-sandbox-123456",
		"of another program":         strings.Replace(name, "patchbay-", "other-", 1),
		"another user's":             name + "1",
	} {
		stays[why] = filepath.Join(dir, n)
		if err := os.Mkdir(stays[why], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		delete(stays, "another user's")
	} else if err := os.Chown(stays["another user's"], 65534, 65534); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, name+"2")
	if err := os.Symlink(filepath.Dir(secret), link); err != nil {
		t.Fatal(err)
	}
	stays["a link's target"] = secret
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(gone); err != nil {
		t.Errorf("the directory of a running process was removed: %v", err)
	}
	kill()
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(gone); err == nil {
		t.Error("the directory of a killed process still exists")
	}
	for why, path := range stays {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// TestRemoveWhatItsOwnerMayNotWrite: directories without the right to write, as Go's module cache
// has them, are removed too. Root has that right everywhere.
func TestRemoveWhatItsOwnerMayNotWrite(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	for _, dir := range []string{"flat", "deep/er/est", "closed/inner", "empty"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if dir != "empty" {
			if err := os.WriteFile(filepath.Join(top, dir, "file"), nil, 0o400); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, change := range []struct {
		dir  string
		mode os.FileMode
	}{{"flat", 0o500}, {"deep/er/est", 0o500}, {"deep/er", 0o500}, {"deep", 0o500}, {"closed", 0}, {"empty", 0}, {"", 0o500}} {
		if err := os.Chmod(filepath.Join(top, change.dir), change.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := Remove(top); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Errorf("the directory still exists: %v", err)
	}
	if err := Remove(top); err != nil {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

func TestAgainAsNobody(t *testing.T) { rerun.Tests(t, "TestRemoveWhatItsOwnerMayNotWrite") }
