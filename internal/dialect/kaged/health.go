package kaged

import (
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// A heart pings a plugin at intervals (seed 002: "Daemon pings plugin at health_interval_sec
// intervals. Plugin must respond within 5 seconds"). It knows neither processes nor the wire, only
// when to ask and how long to wait.
type heart struct {
	every  time.Duration                   // between pings
	within time.Duration                   // for the answer
	ping   func(ctx context.Context) error // returns when the plugin answered, or with why it did not
	lost   func(err error)                 // the plugin did not answer
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

// alive: "any reply to health.check, an error included, is a sign of life; no reply within 5 s is
// not". A plugin that was not there to be asked is not lost either: its keeper is about to start it
// again.
func alive(err error) bool {
	switch {
	case err == nil, errors.Is(err, hook.Refused), errors.Is(err, hook.Garbled), errors.Is(err, hook.TooLarge):
		return true // a reply
	case errors.Is(err, hook.Crash), errors.Is(err, hook.Unavailable):
		return true // its keeper's matter
	}
	return false
}
