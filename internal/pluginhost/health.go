package pluginhost

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// healthTimeout bounds [Host.CheckHealth], for all plugins together: as long as a person waits for
// a diagnosis, and the time that a mine plugin has.
const healthTimeout = 5 * time.Second

// CheckHealth asks plugins how they are, where their protocol has a question for that and they are
// not asked at intervals anyway: those of these names, or all. They are asked side by side, within
// one time of five seconds for all, and starting a process for each may be part of it. What they
// said is told by [Host.Plugin], [Host.Plugins] and [Host.Doctor] from then on, which ask nobody
// themselves. The error is for a name that no plugin has.
func (h *Host) CheckHealth(ctx context.Context, names ...string) error {
	if h.isClosed() {
		return ErrClosed
	}
	entries := h.roster().entries
	if len(names) > 0 {
		entries = make([]*entry, len(names))
		for i, name := range names {
			var err error
			if entries[i], err = h.find(name); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	checkAll(ctx, entries)
	return nil
}

// checkAll asks a few at a time, as start does. One whose turn does not come before ctx ends is not
// asked.
func checkAll(ctx context.Context, entries []*entry) {
	places := make(chan struct{}, 4*runtime.NumCPU())
	var asked sync.WaitGroup
	for _, e := range entries {
		checker, ok := e.plugin.(dialect.HealthChecker)
		if !ok {
			continue
		}
		asked.Go(func() {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				checker.CheckHealth(ctx)
			case <-ctx.Done():
			}
		})
	}
	asked.Wait()
}
