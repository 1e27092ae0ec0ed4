package job

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

// watched is a running watch, and the changes that it reports.
type watched struct {
	t       *testing.T
	changes chan struct{}
	dirs    []string
}

// startWatch starts a watch that ends with the test. Its checks are an hour apart, so that it
// notices changes only by events of the system.
func startWatch(t *testing.T, w *watch) *watched {
	t.Helper()
	if w.open == nil {
		w.open, w.debounce, w.fast, w.slow = fsnotify.NewWatcher, 20*time.Millisecond, time.Hour, time.Hour
	}
	w.logger = slog.New(slog.DiscardHandler)
	started := &watched{t: t, changes: make(chan struct{}, 100), dirs: w.dirs}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // owns w
		defer close(done)
		w.run(ctx, func() { started.changes <- struct{}{} })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		goleak.VerifyNone(t)
	})
	started.next() // it watches now
	return started
}

// next waits for a change.
func (w *watched) next() {
	w.t.Helper()
	select {
	case <-w.changes:
	case <-time.After(time.Minute):
		w.t.Fatal("no change was noticed")
	}
}

// until waits for changes until exactly these agents exist.
func (w *watched) until(want string) {
	w.t.Helper()
	for names(LoadDirs(w.dirs)) != want {
		w.next()
	}
}

func TestWatch(t *testing.T) {
	t.Run("a manifest that is written", func(t *testing.T) {
		dir := t.TempDir()
		writeAgent(t, filepath.Join(dir, "a"), "one")
		w := startWatch(t, &watch{dirs: []string{dir}})
		writeAgent(t, filepath.Join(dir, "a"), "two")
		w.next()
		w.until("two")
	})
	t.Run("a manifest that is replaced, as editors do, again and again", func(t *testing.T) {
		dir := t.TempDir()
		path := writeAgent(t, filepath.Join(dir, "a"), "one")
		w := startWatch(t, &watch{dirs: []string{dir}})
		for _, name := range []string{"two", "three"} {
			written := writeAgent(t, filepath.Join(dir, "a", "new"), name)
			if err := os.Rename(written, path); err != nil {
				t.Fatal(err)
			}
			w.next()
			w.until(name)
		}
	})
	t.Run("an agent that is added", func(t *testing.T) {
		dir := t.TempDir()
		w := startWatch(t, &watch{dirs: []string{dir}})
		agent := filepath.Join(dir, "a")
		if err := os.Mkdir(agent, 0o700); err != nil {
			t.Fatal(err)
		}
		writeAgent(t, agent, "one")
		w.next()
		w.until("one")
	})
	t.Run("an agent that is removed", func(t *testing.T) {
		dir := t.TempDir()
		writeAgent(t, filepath.Join(dir, "a"), "one")
		w := startWatch(t, &watch{dirs: []string{dir}})
		if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
			t.Fatal(err)
		}
		w.next()
		w.until("")
	})
	t.Run("a directory that is created later, with its parents", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "config", "patchbay", "agents")
		w := startWatch(t, &watch{dirs: []string{dir}})
		writeAgent(t, filepath.Join(dir, "a"), "one")
		w.next()
		w.until("one")
	})
	t.Run("a directory that is removed and made again", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "agents")
		writeAgent(t, filepath.Join(dir, "a"), "one")
		w := startWatch(t, &watch{dirs: []string{dir}})
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		w.next()
		w.until("")
		writeAgent(t, filepath.Join(dir, "a"), "two")
		w.next()
		w.until("two")
	})
	t.Run("the target of a link", func(t *testing.T) {
		dir, elsewhere := t.TempDir(), t.TempDir()
		path := writeAgent(t, filepath.Join(elsewhere, "a"), "one")
		if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		link(t, path, filepath.Join(dir, "a", manifestFile))
		w := startWatch(t, &watch{dirs: []string{dir}})
		writeAgent(t, filepath.Join(elsewhere, "a"), "two")
		w.next()
		w.until("two")
	})
	t.Run("without events of the system, changes are noticed by checks", func(t *testing.T) {
		dir := t.TempDir()
		none := func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
		w := startWatch(t, &watch{dirs: []string{dir}, open: none, debounce: time.Hour, fast: 10 * time.Millisecond, slow: time.Hour})
		writeAgent(t, filepath.Join(dir, "a"), "one")
		w.next()
		w.until("one")
	})
}

// TestWatchIsQuiet: other files of an agent, and a manifest that is written with the same content,
// are not changes.
func TestWatchIsQuiet(t *testing.T) {
	dir := t.TempDir()
	path := writeAgent(t, filepath.Join(dir, "a"), "one")
	w := startWatch(t, &watch{dirs: []string{dir}})
	now := time.Now()
	whole := t.TempDir() // agents are written here and moved in one step, because a half-written manifest is a change
	writeFile(t, filepath.Join(dir, "a", "log"), "x")
	if err := errors.Join(os.Rename(writeAgent(t, filepath.Join(whole, "a"), "one"), path), os.Chtimes(path, now, now),
		os.Mkdir(filepath.Join(dir, "b"), 0o700)); err != nil {
		t.Fatal(err)
	}
	writeAgent(t, filepath.Join(whole, "c"), "two")
	if err := os.Rename(filepath.Join(whole, "c"), filepath.Join(dir, "c")); err != nil { // this is a change
		t.Fatal(err)
	}
	w.next()
	w.until("one two")
	if len(w.changes) > 0 {
		t.Errorf("%d changes too many", len(w.changes))
	}
}

// TestWatchEndsWithItsContext: Watch, with a nil logger, returns when its context ends.
func TestWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	Watch(ctx, []string{t.TempDir()}, nil, func() { calls++; cancel() })
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
