package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// DefaultTimeout limits a whole run if Options do not.
const DefaultTimeout = 3 * time.Minute

// Options say how a plugin is tested. The zero value works.
type Options struct {
	Environ []string        // the environment from which the plugin's is made
	Timeout time.Duration   // for the whole run; 0: DefaultTimeout
	Only    []string        // ids of checks, or their beginnings up to a dot; empty: all
	Guarded []sandbox.Place // Patchbay's own places, which the plugin's sandbox never opens
	Bare    bool            // without a sandbox, even if the plugin's dialect has one
	Log     *slog.Logger    // gets the plugin's stderr; nil: no log

	// OnResult is called with each result; may be nil.
	OnResult func(Result)
	// OnBegin is called before each check; may be nil.
	OnBegin func(Check)

	// within shortens the time for an answer, for tests of plugins that never answer; nil: the
	// protocol's times.
	within func(check string, usual time.Duration) time.Duration
	// system says what a sandbox can enforce here; nil: [sandbox.Probe] finds out.
	system *sandbox.System
}

// ErrNoCheck is wrapped by the error of Run if a name in Options.Only matches no check of the
// dialect.
var ErrNoCheck = errors.New("no such check")

// Run tests a plugin. The error is for a run that could not be made; the report says what is wrong
// with the plugin. When Run returns, no process that it started is left.
func Run(ctx context.Context, target Target, o Options) (*Report, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	b := &bench{target: target, opts: o}
	checks := b.suite()
	if checks == nil {
		return nil, fmt.Errorf("there are no checks for the dialect %q", target.Dialect)
	}
	if err := b.choose(checks); err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	report, err := b.make(ctx, checks)
	return report, errors.Join(err, b.close())
}

// choose determines which checks are reported. The checks that they need are run too, but not
// reported.
func (b *bench) choose(checks []Check) error {
	b.wanted = make(map[string]bool)
	for _, c := range checks {
		b.wanted[c.ID] = len(b.opts.Only) == 0
	}
	for _, name := range b.opts.Only {
		found := false
		for _, c := range checks {
			if chosen(name, c.ID) {
				b.wanted[c.ID], found = true, true
			}
		}
		if !found {
			return fmt.Errorf("%w: %s", ErrNoCheck, name)
		}
	}
	b.made = make(map[string]bool)
	for _, c := range slices.Backward(checks) {
		b.made[c.ID] = b.made[c.ID] || b.wanted[c.ID]
		for _, id := range slices.Concat(c.needs, c.after) {
			b.made[id] = b.made[id] || b.made[c.ID]
		}
	}
	for _, c := range checks {
		if c.sums && b.wanted[c.ID] { // it sums up the whole run
			for id := range b.made {
				b.made[id] = true
			}
		}
	}
	return nil
}

// chosen reports whether a name on the command line matches a check: its id, or a beginning of it
// that ends before a dot.
func chosen(name, id string) bool {
	return name == id || len(id) > len(name) && id[:len(name)] == name && id[len(name)] == '.'
}

// make runs the checks one after another.
func (b *bench) make(ctx context.Context, checks []Check) (*Report, error) {
	whole, cancel := context.WithTimeoutCause(ctx, b.opts.Timeout, errOver)
	defer cancel()
	report := &Report{Plugin: b.target.Name, Dialect: b.target.Dialect, OK: true, Checks: []Result{}}
	b.results, b.causes = make(map[string]Result), make(map[string]string)
	for i := range checks {
		c := &checks[i]
		if !b.made[c.ID] {
			continue
		}
		if b.wanted[c.ID] && b.opts.OnBegin != nil {
			b.opts.OnBegin(*c)
		}
		r := b.runCheck(whole, c)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b.results[c.ID] = r
		if b.wanted[c.ID] {
			b.reportCause(report, c.ID)
			b.report(report, r)
		}
	}
	report.Plugin = b.target.Name // the plugin may have given its name meanwhile
	return report, nil
}

// report adds a result to the report.
func (b *bench) report(report *Report, r Result) {
	report.OK = report.OK && r.Status != Fail
	report.Checks = append(report.Checks, r)
	if b.opts.OnResult != nil {
		b.opts.OnResult(r)
	}
}

// reportCause adds to the report the failed check that kept another check from being tried, if the
// user did not choose the failed one. Otherwise the report would show no failure.
func (b *bench) reportCause(report *Report, id string) {
	cause := b.causes[id]
	if cause == "" || b.wanted[cause] || b.results[cause].Status != Fail {
		return
	}
	b.wanted[cause] = true // once
	b.report(report, b.results[cause])
}

// NotTried begins the message of a check that was skipped because of another.
const NotTried = "not tried, because "

// errOver is the reason why no more checks are run.
var errOver = errors.New("the time of the whole run is over")

// runCheck runs one check.
func (b *bench) runCheck(ctx context.Context, c *Check) Result {
	t := &trial{bench: b, check: c}
	b.ctx, b.current = ctx, c.ID
	switch need := b.unmet(c); {
	case need != "":
		cause := cmp.Or(b.causes[need], need) // need may have been skipped too: then the cause is the reason for that
		b.causes[c.ID] = cause
		t.skipf("%s%s%s", NotTried, cause, map[Status]string{Fail: " failed", Skip: " was skipped"}[b.results[cause].Status])
	case ctx.Err() != nil:
		t.failf("not tried: %v", context.Cause(ctx))
		t.fixWith("give the run more time with --timeout, or choose checks with --only")
	default:
		c.run(t)
		if b.stuck != nil && b.stuck.check == c.ID { // say why the plugin does not start, not only that a call failed
			t.status, t.text = Fail, b.stuck.text
			t.fixWith(cmp.Or(b.stuck.fix, "make the plugin start; the message says why it does not"))
		}
		if ctx.Err() != nil && t.status != Pass {
			t.status, t.text = Fail, "not finished: "+context.Cause(ctx).Error()
			t.fixWith("give the run more time with --timeout, or choose checks with --only")
		}
	}
	return t.result()
}

// unmet returns a check that c needs and that has not passed; empty: there is none. If the plugin
// cannot be started, unmet returns the check that found that.
func (b *bench) unmet(c *Check) string {
	if b.stuck != nil && len(c.needs) > 0 {
		return b.stuck.check
	}
	for _, id := range c.needs {
		if s := b.results[id].Status; s != Pass && s != Warn {
			return id
		}
	}
	return ""
}
