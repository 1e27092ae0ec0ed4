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

// Lifecycle events are optional: docs/protocols/mine.md, row M58. Many plugins crash on an
// invocation without a context. Their hooks may still work, so the crash is logged at debug level
// only.

// greet sends the event init and does not wait until the plugin has handled it. Close waits.
func (p *plugin) greet() {
	p.greeting.Go(func() { p.hung = errors.Is(p.tell(context.Background(), eventInit), errSlow) })
}

// Close sends the event shutdown and waits until the plugin has handled it, so that the process is
// not killed halfway when the host exits. A plugin that was too slow for init does not get the
// event, so that it delays the exit only once. Then Close stops the processes of standby.
func (p *plugin) Close(ctx context.Context) error {
	var err error
	p.closing.Do(func() {
		p.greeting.Wait() // ends within lifecycleTimeout
		if !p.hung {
			_ = p.tell(ctx, eventShutdown) // it is in the log
		}
		if p.standby != nil {
			err = p.standby.Close()
		}
	})
	return err
}

// tell sends a lifecycle event. The error is in the log. It is a warning if the plugin took too
// long, because each command waits for that.
func (p *plugin) tell(ctx context.Context, event string) error {
	result, err := p.lifecycle(ctx, event)
	if err == nil {
		err = p.ended(lifecycleCall(event), result)
	}
	switch {
	case errors.Is(err, errSlow):
		p.rt.Log.Warn("the plugin did not handle a lifecycle event in time and was ended", "event", event, "err", err,
			"fix", "let the plugin exit soon after this event; until it does, each command takes that much longer")
	case err != nil:
		p.rt.Log.Debug("lifecycle event not handled", "event", event, "err", err)
	}
	return err
}

// errSlow ends a lifecycle event that takes too long.
var errSlow = errors.New("not finished within")

func (p *plugin) lifecycle(ctx context.Context, event string) (*proc.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.dialect.lifecycle, fmt.Errorf("%w %s", errSlow, p.dialect.lifecycle))
	defer cancel()
	return p.run(ctx, lifecycleCall(event), p.rt.Most(mostStdout))
}

// healthUnknown is the health of a plugin before the first check.
const healthUnknown = "unknown"

// Status returns the health that the last check found.
func (p *plugin) Status() dialect.Status {
	if said := p.outdated.Load(); said != nil {
		return dialect.Status{Health: string(dialect.Broken), Err: hook.Failure(hook.Outdated, dialect.WithFix(said, upgrade))}
	}
	if known := p.health.Load(); known != nil {
		return *known
	}
	return dialect.Status{Health: healthUnknown}
}

// CheckHealth sends the event health and stores the answer for Status: docs/protocols/mine.md, row
// M57. It stores nothing if the caller cancels it.
func (p *plugin) CheckHealth(ctx context.Context) {
	known := p.checkHealth(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	p.health.Store(&known)
}

// checkHealth sends the event health. The status has an error if the plugin reports one or cannot
// be started. Any other failure is only a doubt, because a plugin need not know this event. If the
// plugin exits with 0 and does not say that it is ok, the status has neither an error nor a doubt.
func (p *plugin) checkHealth(ctx context.Context) dialect.Status {
	result, err := p.lifecycle(ctx, eventHealth)
	if err == nil {
		err = p.healthOf(result)
	}
	switch {
	case err == nil:
		return dialect.Status{Health: statusOK}
	case errors.Is(err, hook.Refused), errors.Is(err, hook.Outdated), errors.Is(err, hook.Unavailable):
		return dialect.Status{Health: hook.ReasonLine(err.Error()), Err: err}
	}
	st := dialect.Status{Health: "no answer to health: " + hook.ReasonLine(err.Error())}
	if !errors.Is(err, errMute) {
		st.Doubt = dialect.WithFix(fmt.Errorf("its health check failed, and its hooks are called nevertheless: %s", hook.ReasonLine(err.Error())),
			`let it answer the event health with {"status":"ok"}, or exit with 0 and say nothing`)
	}
	return st
}

// errMute is the error of an answer to health that is empty, or not about health.
var errMute = errors.New("it did not say that it is ok")

// healthOf returns nil if the answer is {"status":"ok"}: docs/protocols/mine.md, row M57.
func (p *plugin) healthOf(r *proc.Result) error {
	if err := p.ended(lifecycleCall(eventHealth), r); err != nil {
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
	return errMute
}
