package engine

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBackupAndRestore makes a backup of a running engine while another goroutine writes and
// deletes. It restores the backup into another directory and into the same one.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	kinds := keptKinds()
	for _, k := range kinds {
		k.write(t, e, 1, wrote)
	}
	q := putInQueue(t, e)
	stop := writeMeanwhile(t, e)
	file := filepath.Join(t.TempDir(), "backup")
	s, err := Backup(t.Context(), dir, file)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	if s.Streams != 5 || s.Records < 2*wrote+1 {
		t.Errorf("summary: %+v", s)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v", info.Mode(), err)
	}
	if _, err := Backup(t.Context(), dir, file); !errors.Is(err, os.ErrExist) {
		t.Errorf("over an existing file: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".backup-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	log := slog.New(slog.DiscardHandler)
	_, err = Restore(t.Context(), dir, file, log)
	if _, ok := errors.AsType[*InUseError](err); !ok {
		t.Errorf("a restore while the engine runs: %v", err)
	}
	kinds[0].write(t, e, wrote+1, wrote+5)
	closeEngine(t, e)

	for _, to := range []string{dir, filepath.Join(t.TempDir(), "new")} {
		r, err := Restore(t.Context(), to, file, log)
		if err != nil {
			t.Fatal(err)
		}
		if (r.Before != "") != (to == dir) {
			t.Errorf("the old store is kept as %q", r.Before)
		}
		again := open(t, Options{Dir: to})
		for _, k := range kinds {
			wantMessages(t, k.read(t, again), nil)
		}
		if n, err := q(again); err != nil || n != 1 {
			t.Errorf("queue: %d items, %v", n, err)
		}
		if reports, err := again.Damage(); err != nil || len(reports) != 0 {
			t.Errorf("restored, and damaged: %+v, %v", reports, err)
		}
	}
}

// putInQueue puts an item into a queue, and returns a function that counts its items.
func putInQueue(t *testing.T, e *Engine) func(*Engine) (int, error) {
	t.Helper()
	queue, err := e.Queue(t.Context(), QueueConfig{Name: "jobs"})
	if err != nil {
		t.Fatal(err)
	}
	if err := queue.Put(t.Context(), Item{ID: "one", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	return func(e *Engine) (int, error) {
		queue, err := e.Queue(context.Background(), QueueConfig{Name: "jobs"})
		if err != nil {
			return 0, err
		}
		return queue.Len(context.Background())
	}
}

// writeMeanwhile appends to its own stream until it is stopped.
func writeMeanwhile(t *testing.T, e *Engine) (stop func()) {
	t.Helper()
	s := openStream(t, e, "busy")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Append(ctx, Append{Topic: "t", Data: []byte(strings.Repeat("x", 10_000))}); err != nil {
				done <- err
				return
			}
		}
	}()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("writing meanwhile: %v", err)
		}
	}
}

// TestRestoreRefuses checks that a damaged backup changes nothing.
func TestRestoreRefuses(t *testing.T) {
	k := keptKinds()[0]
	dir := t.TempDir()
	fill(t, dir, k)
	e := open(t, Options{Dir: dir})
	file := filepath.Join(t.TempDir(), "backup")
	if _, err := Backup(t.Context(), dir, file); err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	data := readFile(t, file)
	data[len(data)/2] ^= 0xff
	writeFile(t, file, data)
	if _, err := Restore(t.Context(), dir, file, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a damaged backup was restored")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".restore-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	e = open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), nil)
}

// TestInterruptedRestore checks that an engine does not start with an empty store if a restore was
// interrupted between its two steps.
func TestInterruptedRestore(t *testing.T) {
	k := keptKinds()[0]
	dir := t.TempDir()
	fill(t, dir, k)
	store := filepath.Join(dir, "jetstream")
	aside := store + ".before-restore-" + time.Now().UTC().Format("2006-01-02")
	if err := os.Rename(store, aside); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), aside) {
		t.Fatalf("opened without its store: %v", err)
	}
	if err := os.Rename(aside, store); err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), nil)
}
