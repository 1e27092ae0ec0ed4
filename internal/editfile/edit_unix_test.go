//go:build unix

package editfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func adding(text string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) { return append(old, text...), nil }
}

func TestEditKeepsModeOwnerAndABackup(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	put(t, file, "a", 0o640)
	if os.Getuid() == 0 {
		if err := os.Chown(file, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	result, err := Edit(Place{Dir: dir, Name: "config.toml", Mode: 0o600}, adding("b"))
	if err != nil || !result.Changed || result.Path != file {
		t.Fatalf("%+v, %v", result, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 || read(t, file) != "ab" || read(t, result.Backup) != "a" {
		t.Errorf("mode %v, text %q, backup %q, %v", info.Mode(), read(t, file), read(t, result.Backup), err)
	}
	if backup, err := os.Stat(result.Backup); err != nil || backup.Mode().Perm() != 0o640 {
		t.Errorf("backup %v, %v", backup, err)
	}
	if owner := info.Sys().(*syscall.Stat_t); os.Getuid() == 0 && owner.Uid != 65534 {
		t.Errorf("owner %d", owner.Uid)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestEditOfAMissingFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	result, err := Edit(Place{Dir: dir, Name: ".patchbay/config.toml", Mode: 0o644}, adding("x"))
	if err != nil || result.Backup != "" || read(t, result.Path) != "x" {
		t.Errorf("%+v, %v", result, err)
	}
	if result, err := Edit(Place{Dir: dir, Name: ".patchbay/config.toml"}, adding("")); err != nil || result.Changed {
		t.Errorf("nothing changed: %+v, %v", result, err)
	}
}

func TestEditRefusesAFileThatChangedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c")
	put(t, file, "a", 0o600)
	_, err := Edit(Place{Dir: dir, Name: "c"}, func(old []byte) ([]byte, error) {
		put(t, file, "by somebody else", 0o600)
		return []byte("mine"), nil
	})
	if !errors.Is(err, ErrChanged) || read(t, file) != "by somebody else" {
		t.Errorf("%v, %q", err, read(t, file))
	}
}

func TestEditRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, outside, "theirs", 0o600)
	for _, tc := range []struct {
		rule, says string
		make       func(dir string) error
	}{
		{"a link out of the directory", "leads out of", func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "sub", "c")) }},
		{"a link upwards out of it", "leads out of", func(dir string) error { return os.Symlink("../../x", filepath.Join(dir, "sub", "c")) }},
		{"a named pipe", "not a regular file", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "sub", "c"), 0o600) }},
		{"a directory", "not a regular file", func(dir string) error { return os.Mkdir(filepath.Join(dir, "sub", "c"), 0o700) }},
		{"a file that is read-only", "read-only", func(dir string) error { return os.WriteFile(filepath.Join(dir, "sub", "c"), nil, 0o400) }},
		{"a directory that is a link out of it", "leads out of", func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "sub")); err != nil {
				return err
			}
			return os.Symlink(filepath.Dir(outside), filepath.Join(dir, "sub"))
		}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o700), tc.make(dir)); err != nil {
				t.Fatal(err)
			}
			_, err := Edit(Place{Dir: dir, Name: "sub/c"}, adding("x"))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v does not say %q", err, tc.says)
			}
		})
	}
	if got := fixes.Of(readOnly("c")); got != "make it writable, or change it by hand" {
		t.Errorf("the fix of a file that is read-only is %q", got)
	}
	if read(t, outside) != "theirs" {
		t.Error("a file outside was changed")
	}
	if _, err := Edit(Place{Dir: t.TempDir(), Name: "c"}, func([]byte) ([]byte, error) { return nil, plainfile.ErrKind }); !errors.Is(err, plainfile.ErrKind) {
		t.Errorf("the error of the change is %v", err)
	}
}

func TestEditThroughALinkInTheDirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "dotfiles", "c"), "a", 0o600)
	if err := os.Symlink("dotfiles/c", filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	result, err := Edit(Place{Dir: dir, Name: "c"}, adding("b"))
	if err != nil || result.Path != filepath.Join(dir, "dotfiles", "c") || read(t, result.Path) != "ab" {
		t.Errorf("%+v, %v", result, err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "c")); err != nil || target != "dotfiles/c" {
		t.Errorf("the link is %q now, %v", target, err)
	}
}

func TestEditsWaitForEachOther(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := Edit(Place{Dir: dir, Name: "c"}, adding("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := read(t, filepath.Join(dir, "c")); got != strings.Repeat("x", 20) {
		t.Errorf("%q: an edit was lost", got)
	}
}
