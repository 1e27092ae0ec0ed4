package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestDamageOnAFullDisk checks that the engine does not start if it cannot copy a damaged block,
// says why, and changes nothing.
func TestDamageOnAFullDisk(t *testing.T) {
	dir := plugtest.SmallDisk(t, "24m")
	k := keptKinds()[0]
	fill(t, dir, k)
	path := blockPath(dir, k.stream, 1)
	lost, _ := flipAt(10).do(t, path)
	harmed := readFile(t, path)
	filling := filepath.Join(dir, "filling")
	if err := os.WriteFile(filling, make([]byte, 1<<28), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk does not fill: %v", err)
	}
	_, err := Open(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "cannot be copied") || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("opened on a full disk: %v", err)
	}
	if !bytes.Equal(readFile(t, path), harmed) {
		t.Error("the block was changed")
	}
	if err := os.Remove(filling); err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), lost)
	if reports, err := e.Damage(); err != nil || len(reports) != 1 {
		t.Errorf("reports: %+v, %v", reports, err)
	}
	closeEngine(t, e)
}

// TestBlockIsAPipe: no start, check or backup waits for a block that is not a regular file.
func TestBlockIsAPipe(t *testing.T) {
	dir := t.TempDir()
	k := keptKinds()[0]
	fill(t, dir, k)
	path := blockPath(dir, k.stream, 1)
	if err := os.Rename(path, path+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"open":   func() error { _, err := Open(t.Context(), Options{Dir: dir}); return err },
		"check":  func() error { _, err := Check(dir, false, slog.New(slog.DiscardHandler)); return err },
		"backup": func() error { _, err := Backup(t.Context(), dir, filepath.Join(t.TempDir(), "b")); return err },
	}
	for name, call := range calls {
		ended := make(chan error, 1)
		go func() { ended <- call() }()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s waits for the pipe", name)
		}
	}
	if err := os.Rename(path+".kept", path); err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), nil)
}
