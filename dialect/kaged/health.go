package kaged

import (
	"context"
	"errors"
	"time"
)

// A heart pings a plugin at intervals (seed 002: "Daemon pings plugin at
// health_interval_sec intervals. Plugin must respond within 5 seconds"). It
// knows neither processes nor the wire, only when to ask and how long to wait.
type heart struct {
	every  time.Duration                   // between pings
	within time.Duration                   // for the answer
	ping   func(ctx context.Context) error // returns when the plugin answered, or with why it did not
	lost   func()                          // the plugin did not answer in time
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
		if !h.alive(ctx) {
			h.lost()
		}
	}
}

// alive: "any reply to health.check, an error included, is a sign of life; no
// reply within 5 s is not". A plugin that is not there to be asked has died
// already, which its keeper knows.
func (h *heart) alive(ctx context.Context) bool {
	pingCtx, cancel := context.WithTimeout(ctx, h.within)
	defer cancel()
	err := h.ping(pingCtx)
	return ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)
}
