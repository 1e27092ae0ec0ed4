package daemon

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/otlp"
)

// startExport starts to send traces to the collector that [telemetry] names. The collector stays
// the same until the daemon ends.
func (c *Core) startExport() error {
	address := c.Config().Telemetry.OTLP
	if address == "" || c.exports.Load() != nil {
		return nil
	}
	config, err := otlp.FromEnviron(address, dialect.Env{Vars: c.options.Load().Host.Environ}.Get)
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	c.exports.Store(otlp.NewQueue(otlp.NewClient(config), c.log))
	return nil
}

// export queues a trace for the collector. It never waits.
func (c *Core) export(e *chat.Event) {
	q := c.exports.Load()
	if q == nil || e.Type != chat.Point || e.Outcome == nil || e.Outcome.Outcome == nil || len(e.Outcome.Steps) == 0 {
		return
	}
	q.Offer(otlp.Spans(otlp.Event{Session: e.Session, Turn: e.Turn, End: e.Time, Outcome: e.Outcome.Outcome, Clean: c.Host.Hidden().Clean}))
}

// exported returns the numbers of exported spans, or nil if nothing is exported.
func (c *Core) exported() *otlp.Counts {
	q := c.exports.Load()
	if q == nil {
		return nil
	}
	counts := q.Counts()
	return &counts
}

func (c *Core) stopExport() {
	if q := c.exports.Load(); q != nil {
		q.Close()
	}
}
