package plugindev

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The times of a watch.
const (
	settleTime = 100 * time.Millisecond // an editor's save is several events
	lookEvery  = 2 * time.Second        // between checks of files that the system does not watch
)

// watch calls changed when files in the session's places may have changed, until ctx ends. The
// system's events are only hints: changed looks at the files.
func (s *Session) watch(ctx context.Context, changed func()) {
	var events chan fsnotify.Event
	var errs chan error
	system, err := fsnotify.NewWatcher()
	if err == nil {
		defer system.Close()
		events, errs = system.Events, system.Errors
	}
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		if system != nil {
			for _, dir := range dirs(s.o.places()) {
				_ = system.Add(dir) // if it cannot be watched, it is checked at intervals
			}
		}
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if isIgnored(filepath.Base(e.Name)) {
				continue
			}
			drain(ctx, events)
		case <-errs: // probably events were lost
		case <-timer.C:
		}
		timer.Reset(lookEvery)
		changed()
	}
}

// drain waits until nothing has happened for a moment, but not forever: a log file may be written
// all the time.
func drain(ctx context.Context, events <-chan fsnotify.Event) {
	const longest = 10 * settleTime
	end := time.After(longest)
	quiet := time.NewTimer(settleTime)
	defer quiet.Stop()
	for {
		select {
		case <-events:
			quiet.Reset(settleTime)
		case <-quiet.C:
			return
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}
