package plugindev

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The paces of a watch.
const (
	settleTime = 100 * time.Millisecond // an editor's save is several events
	lookEvery  = 2 * time.Second        // between looks at files whose changes the system does not tell of
)

// watch calls changed when files in the session's places may have changed, until ctx ends. What the
// system tells is a hint only: changed looks at the files.
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
				_ = system.Add(dir) // one that cannot be watched is looked at
			}
		}
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if passedOver(filepath.Base(e.Name)) {
				continue
			}
			drain(ctx, events)
		case <-errs: // events were lost, most likely
		case <-timer.C:
		}
		timer.Reset(lookEvery)
		changed()
	}
}

// drain waits until nothing more happens for a moment, but not for ever: a log file may be written
// all day.
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
