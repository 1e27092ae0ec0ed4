package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The times of a watch.
const (
	watchDebounce = 200 * time.Millisecond // how long further events are collected: an editor's save is several events
	watchFast     = 3 * time.Second        // between checks if the system does not report changes
	watchSlow     = time.Minute            // between checks if it does: it may miss changes on network file systems
)

// Watch calls changed whenever the manifests in some directories may have changed: one was written,
// added or removed, or can no longer be read. It also calls changed once at the start, after it has
// begun to watch, so that no change is missed between the caller's first read and the watch. It
// blocks until ctx ends. A nil logger discards.
//
// The directories need not exist yet. An event of the system is only a hint: Watch reads the
// manifests to find out whether they have changed.
func Watch(ctx context.Context, dirs []string, logger *slog.Logger, changed func()) {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	w := &watch{dirs: dirs, logger: logger, debounce: watchDebounce, fast: watchFast, slow: watchSlow, open: fsnotify.NewWatcher}
	w.run(ctx, changed)
}

// A watch belongs to the goroutine in run; nothing in it is shared.
type watch struct {
	dirs   []string
	logger *slog.Logger

	debounce, fast, slow time.Duration
	open                 func() (*fsnotify.Watcher, error)

	system    *fsnotify.Watcher // nil: not available, so the watch only checks at intervals
	unwatched map[string]bool   // directories that cannot be watched; the log names each of them once
	seen      [sha256.Size]byte // the hash of the manifests when changed was last called
}

// run watches until ctx ends.
//
//	updateWatches   asks the system to watch the directories that matter now
//	wait            waits for an event and those that follow it, or for the next check
//	read            hashes the manifests; if the hash differs, run calls changed
func (w *watch) run(ctx context.Context, changed func()) {
	var err error
	if w.system, err = w.open(); err != nil {
		w.logger.Warn("cannot watch the agents' directories; checking them at intervals instead", "err", err)
	} else {
		defer w.system.Close()
	}
	w.updateWatches()
	w.seen = w.read()
	changed()
	for w.wait(ctx) {
		w.updateWatches() // before read: a later change gives an event
		if now := w.read(); now != w.seen {
			w.seen = now
			changed()
		}
	}
}

// wait returns true when it is time to check, and false when ctx has ended.
func (w *watch) wait(ctx context.Context) bool {
	timer := time.NewTimer(w.pace())
	defer timer.Stop()
	hinted := false
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case e := <-w.events():
			if !hinted && w.matters(e) {
				hinted = true
				timer.Reset(w.debounce) // further events do not extend it: a log file may be written all day
			}
		case err := <-w.errors(): // most likely events were lost
			w.logger.Debug("watching the agents' directories", "err", err)
			hinted = true
			timer.Reset(w.debounce)
		}
	}
}

func (w *watch) pace() time.Duration {
	if w.system == nil || len(w.unwatched) > 0 {
		return w.fast
	}
	return w.slow
}

func (w *watch) events() <-chan fsnotify.Event {
	if w.system == nil {
		return nil
	}
	return w.system.Events
}

func (w *watch) errors() <-chan error {
	if w.system == nil {
		return nil
	}
	return w.system.Errors
}

// matters reports whether a manifest may have changed with an event. A write to a file with another
// extension does not count, because agents may write their own files all day.
func (w *watch) matters(e fsnotify.Event) bool {
	return e.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) || filepath.Ext(e.Name) == filepath.Ext(manifestFile)
}

// updateWatches makes the system watch exactly the directories that matter now.
func (w *watch) updateWatches() {
	if w.system == nil {
		return
	}
	want := w.places()
	for _, old := range w.system.WatchList() {
		if !want[old] {
			w.unwatch(old)
		}
	}
	failed := make(map[string]bool)
	for _, dir := range slices.Sorted(maps.Keys(want)) {
		if err := w.system.Add(dir); err != nil {
			failed[dir] = true
			if !w.unwatched[dir] {
				w.logger.Warn("cannot watch a directory; checking it at intervals instead", "path", dir, "err", err)
			}
		}
	}
	w.unwatched = failed
}

func (w *watch) unwatch(dir string) {
	if err := w.system.Remove(dir); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
		w.logger.Debug("cannot stop watching a directory", "path", dir, "err", err)
	}
}

// places returns the directories to watch: each directory of agents, or its nearest parent that
// exists; each agent's directory; and the directories that symbolic links in these lead to.
func (w *watch) places() map[string]bool {
	places := make(map[string]bool)
	for _, dir := range w.dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue // there is no working directory, so a relative path cannot be found or watched
		}
		places[realPath(nearestDir(dir))] = true
		entries, _ := os.ReadDir(dir) // LoadDirs reports this error
		for _, e := range entries[:min(len(entries), maxAgents)] {
			agent := filepath.Join(dir, e.Name())
			if info, err := os.Stat(agent); err != nil || !info.IsDir() {
				continue
			}
			places[realPath(agent)] = true
			if path, ok := manifestIn(agent); ok {
				places[filepath.Dir(realPath(path))] = true
			}
		}
	}
	return places
}

// nearestDir returns dir, or its nearest parent that exists.
func nearestDir(dir string) string {
	for {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// read returns a hash of all manifests and of the errors that keep others from being read.
func (w *watch) read() [sha256.Size]byte {
	hash := sha256.New()
	paths, broken := findManifests(w.dirs)
	for _, b := range broken {
		fmt.Fprintf(hash, "%q %q\n", b.Path, b.Err)
	}
	for _, path := range paths {
		data, err := readFile(path)
		fmt.Fprintf(hash, "%q %s %q\n", path, fingerprint(data), fmt.Sprint(err))
	}
	return [sha256.Size]byte(hash.Sum(nil))
}
