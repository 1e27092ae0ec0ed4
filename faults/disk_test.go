//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/storage"
)

// fill uses up all the free space. The function that it returns frees it.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filling")
	err := os.WriteFile(path, make([]byte, 1<<30), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk does not fill: %v", err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFullDiskLosesNothingThatWasStored: a plugin stores values in the host's data directory. If
// that is full, the plugin gets an error, all values stored before are still there, and with free
// space it can store again.
func TestAFullDiskLosesNothingThatWasStored(t *testing.T) {
	disk := plugtest.SmallDisk(t, "24m")
	open := func() (*engine.Engine, *storage.Store) {
		e, err := engine.Open(t.Context(), engineOptions(t, disk))
		if err != nil {
			t.Fatal(err)
		}
		return e, storage.New(func(context.Context) (engine.Store, error) { return e, nil })
	}
	e, store := open()
	if err := store.Plugin("p", storage.Quota{}).Put(t.Context(), "before", json.RawMessage(`"kept"`)); err != nil {
		t.Fatal(err)
	}
	free := fill(t, disk)
	err := putUntilFull(t, store)
	if err == nil {
		t.Fatal("every value was stored on a full disk")
	}
	if !strings.Contains(err.Error(), "no space") {
		t.Errorf("the error does not say that the disk is full: %v", err)
	}
	wantStored(t, store)
	free()
	eventually.True(t, "a value to be stored again", func() bool {
		return store.Plugin("p", storage.Quota{}).Put(t.Context(), "after", json.RawMessage(`1`)) == nil
	})
	closeEngine(t, e)
	e, store = open()
	wantStored(t, store)
	closeEngine(t, e)
}

// engineOptions returns the options of a host whose data is below a directory.
func engineOptions(t *testing.T, dir string) engine.Options {
	t.Helper()
	dirs, err := config.Locate(func(name string) string {
		return map[string]string{"HOME": dir, "PATCHBAY_HOME": dir}[name]
	}, "linux")
	if err != nil {
		t.Fatal(err)
	}
	o, err := engine.Configured(dirs, config.Engine{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// putUntilFull stores values until that fails.
func putUntilFull(t *testing.T, store *storage.Store) error {
	large := json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)
	for i := range 400 {
		if err := store.Plugin("p", storage.Quota{}).Put(t.Context(), "key"+string(rune('a'+i%26)), large); err != nil {
			return err
		}
	}
	return nil
}

func wantStored(t *testing.T, store *storage.Store) {
	t.Helper()
	value, ok, err := store.Plugin("p", storage.Quota{}).Get(t.Context(), "before")
	if err != nil || !ok || string(value) != `"kept"` {
		t.Errorf("the value stored before: %s, %v, %v", value, ok, err)
	}
}

func closeEngine(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestAFullDiskKeepsTheOldCode: a plugin's file is replaced as a whole or not at all.
func TestAFullDiskKeepsTheOldCode(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	disk := plugtest.SmallDisk(t, "1m")
	host, err := pluginhost.Open(t.Context(), &pluginhost.Options{Dir: disk, Dialects: []string{plugtest.Python},
		Environ: []string{"HOME=" + disk, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := host.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	const old = "@on_final\nasync def f(ctx, text): return 'old'\n"
	if _, err := pythonfile.Of(host).Save(t.Context(), "notes", old); err != nil {
		t.Fatal(err)
	}
	free := fill(t, disk)
	_, err = pythonfile.Of(host).Save(t.Context(), "notes", old+"#"+strings.Repeat("x", 256<<10)+"\n")
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "no space left") {
		t.Errorf("saving on a full disk: %v", err)
	}
	free()
	s, err := pythonfile.Of(host).Get(t.Context(), "notes")
	if err != nil || s.Content != old {
		t.Errorf("the old code: %.100q, %v", s.Content, err)
	}
	if names := filesIn(t, filepath.Dir(s.Path)); names != "notes.py" {
		t.Errorf("the folder has %s", names)
	}
}

func filesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "__pycache__" {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}
