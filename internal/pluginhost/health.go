package pluginhost

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// healthTimeout limits [Host.CheckHealth], for all plugins together. It is the time that a mine
// plugin has to answer, and that a person waits for a diagnosis.
const healthTimeout = 5 * time.Second

// CheckHealth asks plugins about their health: those with the given names, or all. It asks only
// plugins whose protocol has a health request and that are not asked at intervals anyway. It asks a
// few at a time, and starts a process for those that need one. After five seconds it stops: then
// some plugins may not have been asked. [Host.Plugin], [Host.Plugins] and [Host.Doctor] report the
// answers from then on. CheckHealth fails only if a name means no plugin or several, or if the host
// is closed.
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
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, fmt.Errorf("not finished within %s", healthTimeout))
	defer cancel()
	checkAll(ctx, entries)
	return nil
}

// checkAll asks a few plugins at a time, as start does. If ctx ends, it does not ask the others.
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
