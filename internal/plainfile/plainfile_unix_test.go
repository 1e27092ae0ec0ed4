//go:build unix

package plainfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within fails the test if do waits.
func within(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it waits")
		return nil
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(syscall.Mkfifo(path("pipe"), 0o600), os.Symlink(path("pipe"), path("link")), os.Mkdir(path("dir"), 0o700)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for file, says := range map[string]string{path("pipe"): "a named pipe", path("link"): "a named pipe", path("dir"): "a directory",
		path("socket"): "a socket", "/dev/zero": "a device", "/dev/null": "a device"} {
		t.Run(says, func(t *testing.T) {
			err := within(t, func() error { _, err := Read(file, 10); return err })
			if !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
}

// TestAPipeThatComesInBetween: after the first check of a file, a pipe takes its place. The pipe is
// opened without waiting for a writer, and the second check finds it.
func TestAPipeThatComesInBetween(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	swapped := func(path string, flag int, mode fs.FileMode) (*os.File, error) {
		if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
			return nil, err
		}
		return os.OpenFile(path, flag, mode)
	}
	err = within(t, func() error { _, err := open(file, info, nil, swapped); return err })
	if !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), "a named pipe") {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(file, 10); err != nil || string(data) != "0123456789" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := Read(file, 9); err == nil || err.Error() != file+": larger than 9 bytes" {
		t.Errorf("one byte too many: %v", err)
	} else if size, ok := errors.AsType[*SizeError](err); !ok || size.Most != 9 {
		t.Errorf("%#v", err)
	}
	if _, err := Read(file+"-missing", 9); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
