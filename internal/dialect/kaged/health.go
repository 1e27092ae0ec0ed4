package kaged

import (
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// A heart sends health.check at intervals: docs/protocols/kaged.md, rows K81 and K82. It knows no
// processes and no messages, only when to ping and how long to wait.
type heart struct {
	every  time.Duration                   // between pings
	within time.Duration                   // the time for an answer
	ping   func(ctx context.Context) error // returns nil if the plugin answered, otherwise why not
	lost   func(err error)                 // is called if the plugin did not answer
}

// beat pings until ctx ends.
func (h *heart) beat(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pingCtx, cancel := context.WithTimeout(ctx, h.within)
		err := h.ping(pingCtx)
		cancel()
		if ctx.Err() == nil && !alive(err) {
			h.lost(err)
		}
	}
}

// alive reports whether a plugin need not be restarted after a ping with this error. Any reply
// counts, even an error: docs/protocols/kaged.md, row K81. A plugin that has exited need not be
// restarted either, because proc.Keep does that.
func alive(err error) bool {
	switch {
	case err == nil, errors.Is(err, hook.Refused), errors.Is(err, hook.Garbled), errors.Is(err, hook.TooLarge):
		return true // it replied
	case errors.Is(err, hook.Crash), errors.Is(err, hook.Unavailable):
		return true // proc.Keep restarts it
	}
	return false
}
