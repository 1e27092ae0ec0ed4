package job

import (
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

// The paces of a watch.
const (
	watchDebounce = 200 * time.Millisecond // an editor's save is several events
	watchFast     = 3 * time.Second        // between looks where the system does not tell us
	watchSlow     = time.Minute            // between looks where it does: network file systems forget to
)

// Watch calls changed whenever the manifests in some directories may read differently than before:
// one was written, or has come, or is gone, or can no longer be read. It calls it once at the start
// too, when it has begun to watch, so that nothing is missed between a first look and the watch. It
// blocks until ctx ends. A nil logger discards.
//
// The directories need not be there yet. What the system tells is a hint only: what has changed is
// seen by reading.
func Watch(ctx context.Context, dirs []string, logger *slog.Logger, changed func()) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	w := &watch{dirs: dirs, logger: logger, debounce: watchDebounce, fast: watchFast, slow: watchSlow, open: fsnotify.NewWatcher}
	w.run(ctx, changed)
}

// A watch belongs to the goroutine in run; nothing in it is shared.
type watch struct {
	dirs   []string
	logger *slog.Logger

	debounce, fast, slow time.Duration
	open                 func() (*fsnotify.Watcher, error)

	system    *fsnotify.Watcher // nil: there is none to be had, and looking at intervals must do
	unwatched map[string]bool   // directories that cannot be watched, and were complained about
	seen      [sha256.Size]byte // the manifests as they were when changed was last called
}

// run is the whole watch.
//
//	listen      asks the system to tell of the directories that matter now
//	look        reads the manifests; calls changed where they differ
//	wait        for a hint, and for the rest of it; or for the time of the next look
func (w *watch) run(ctx context.Context, changed func()) {
	var err error
	if w.system, err = w.open(); err != nil {
		w.logger.Warn("cannot watch the agents' directories, looking at them at intervals instead", "err", err)
	} else {
		defer w.system.Close()
	}
	w.updateWatches()
	w.seen = w.read()
	changed()
	for w.wait(ctx) {
		w.updateWatches() // before the look: what changes after it is heard
		if now := w.read(); now != w.seen {
			w.seen = now
			changed()
		}
	}
}

// wait is false when ctx has ended.
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
				timer.Reset(w.debounce) // a bound, and not put off by further events: a log file may be written all day
			}
		case err := <-w.errors(): // events were lost, most likely
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

// matters leaves out what agents write into files of their own, which is all day long.
func (w *watch) matters(e fsnotify.Event) bool {
	return e.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) || filepath.Ext(e.Name) == filepath.Ext(manifestFile)
}

// updateWatches has the system tell of exactly the directories that matter now.
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
	deaf := make(map[string]bool)
	for _, dir := range slices.Sorted(maps.Keys(want)) {
		if err := w.system.Add(dir); err != nil {
			deaf[dir] = true
			if !w.unwatched[dir] {
				w.logger.Warn("cannot watch a directory, looking at it at intervals instead", "path", dir, "err", err)
			}
		}
	}
	w.unwatched = deaf
}

func (w *watch) unwatch(dir string) {
	if err := w.system.Remove(dir); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
		w.logger.Debug("no longer watching a directory", "path", dir, "err", err)
	}
}

// places are the directories to be told of: each directory of agents, or the nearest above it that
// is there; each agent's; and wherever symbolic links lead from these.
func (w *watch) places() map[string]bool {
	places := make(map[string]bool)
	for _, dir := range w.dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue // there is no working directory: nothing relative can be found, or watched
		}
		places[realPath(nearestDir(dir))] = true
		entries, _ := os.ReadDir(dir) // what went wrong is said by LoadDirs, to whom it matters
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

// nearestDir is a directory, or the nearest above it that is there.
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

// read is the fingerprint of all manifests, and of what keeps others from being read.
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
