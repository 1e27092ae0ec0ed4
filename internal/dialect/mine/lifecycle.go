package mine

import (
	"context"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Seed 001: "Plugins may optionally handle lifecycle events". Many do not, and crash on an
// invocation without a context; that says nothing about their hooks, so it is logged for those who
// look closely and otherwise passed over.

// greet tells the plugin that the host has started. Nobody waits: "None (fire-and-forget)". Close
// sees to it that it is over.
func (p *plugin) greet() {
	p.greeting.Go(func() { p.tell(context.Background(), eventInit) })
}

// Close tells the plugin that the host exits, and waits until it knows, lest the process be killed
// with the host before it has done what it wants to do. Then the processes kept ready are ended.
func (p *plugin) Close(ctx context.Context) error {
	var err error
	p.farewell.Do(func() {
		p.greeting.Wait() // bounded by its own time
		p.tell(ctx, eventShutdown)
		if p.standby != nil {
			err = p.standby.Close()
		}
	})
	return err
}

// tell sends a lifecycle event whose answer does not matter.
func (p *plugin) tell(ctx context.Context, event string) {
	result, err := p.lifecycle(ctx, event)
	if err == nil {
		err = p.ended(result)
	}
	if err != nil {
		p.rt.Log.Debug("lifecycle event not handled", "event", event, "err", err)
	}
}

func (p *plugin) lifecycle(ctx context.Context, event string) (*proc.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.dialect.lifecycle, fmt.Errorf("no end within %s", p.dialect.lifecycle))
	defer cancel()
	return p.run(ctx, lifecycleCall(event), p.rt.Most(mostStdout))
}

// healthUnknown is the health of a plugin that was not asked for it.
const healthUnknown = "unknown"

// Status is the plugin's own word on its health, where it was asked for it.
func (p *plugin) Status() dialect.Status {
	if said := p.outdated.Load(); said != nil {
		return dialect.Status{Health: "broken", Err: said}
	}
	if known := p.health.Load(); known != nil {
		return *known
	}
	return dialect.Status{Health: healthUnknown}
}

// CheckHealth asks for the health: docs/protocols/mine.md, the event health for `plugin info`. What
// a caller who gives up leaves unanswered is not remembered.
func (p *plugin) CheckHealth(ctx context.Context) {
	known := p.checkHealth(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	p.health.Store(&known)
}

// checkHealth asks for the health. A plugin that says it is unwell, or that cannot even be started,
// has an error; one that does not know the event has none.
func (p *plugin) checkHealth(ctx context.Context) dialect.Status {
	result, err := p.lifecycle(ctx, eventHealth)
	if err == nil {
		err = p.healthOf(result)
	}
	switch {
	case err == nil:
		return dialect.Status{Health: statusOK}
	case errors.Is(err, hook.Refused), errors.Is(err, hook.Outdated), errors.Is(err, hook.Unavailable):
		return dialect.Status{Health: hook.LastWords(err.Error()), Err: err}
	}
	return dialect.Status{Health: "no answer to health: " + hook.LastWords(err.Error())}
}

// healthOf: the expected response is {"status": "ok"}.
func (p *plugin) healthOf(r *proc.Result) error {
	if err := p.ended(r); err != nil {
		return err
	}
	if _, err := parseReply(r.Stdout); err != nil {
		return err
	}
	if o, err := rawjson.Parse(r.Stdout); err == nil {
		if status, _ := o.String("status"); status == statusOK {
			return nil
		}
	}
	return errors.New("it did not say that it is ok")
}
