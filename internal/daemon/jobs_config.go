package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/notify"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A pluginUse is one entry of a manifest that names a plugin.
type pluginUse struct {
	*job.Hook
	point    hook.Point
	expanded bool // the plugin gets its config with the values of ${NAME}
}

// pluginUses lists the plugins that a manifest names.
func pluginUses(m *job.Manifest) []pluginUse {
	var uses []pluginUse
	for _, list := range []struct {
		hooks []job.Hook
		point hook.Point
	}{{m.Preflight, hook.JobPreflight}, {m.OnSuccess, hook.JobSink}, {m.OnFailure, hook.JobNotify}} {
		for i := range list.hooks {
			uses = append(uses, pluginUse{Hook: &list.hooks[i], point: list.point})
		}
	}
	for i := range m.Notifiers {
		if n := &m.Notifiers[i]; n.Driver == job.DriverPlugin {
			if h, err := n.Hook(); err == nil { // the manifest was checked, so its config is JSON
				uses = append(uses, pluginUse{Hook: h, point: hook.JobNotify, expanded: true})
			}
		}
	}
	return uses
}

// checkConfig checks the config of an entry as the plugin will get it. The text of the error has
// no values of variables.
func (x *JobExam) checkConfig(ctx context.Context, u pluginUse) error {
	config, hide := u.Config, func(text string) string { return text }
	if u.expanded {
		var err error
		if config, hide, err = notify.ExpandJSON(config, lookup(x.Secrets, x.Environ)); err != nil {
			return err
		}
	}
	if err := x.Host.CheckConfig(ctx, job.PluginDialect+":"+u.Plugin, config); err != nil {
		return &hiddenError{err, hide(err.Error())}
	}
	return nil
}

// A hiddenError is an error whose text is shown without secrets.
type hiddenError struct {
	err  error
	text string
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// configProblem returns the problem of an entry whose config was refused or cannot be checked.
func configProblem(m *job.Manifest, u pluginUse, err error) document.Problem {
	return m.Problem(u.At, fmt.Sprintf("plugin %s: %v", u.Plugin, err), fixes.Of(err))
}

// Check returns a [*BrokenJobError] if a plugin refuses the config that a manifest gives it. The
// check belongs to loading a manifest: one that was accepted is not checked again before it
// changes, and one that was refused is checked before each run until it is accepted. A config that
// cannot be checked is a warning.
func (j *Jobs) Check(ctx context.Context, m *job.Manifest) error {
	if j.accepted.has(m) {
		return nil
	}
	uses := pluginUses(m)
	for _, u := range uses {
		j.core.findPlugin(ctx, j.core.Host, u.Plugin)
	}
	x := j.exam()
	var refused []document.Problem
	all := true
	for _, u := range uses {
		if obstacleTo(x.Host, u.Plugin, u.point) != nil {
			all = false // the run says so when it calls the plugin
			continue
		}
		err := x.checkConfig(ctx, u)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, hook.Refused):
			refused = append(refused, configProblem(m, u, err))
		case err != nil && !errors.Is(err, notify.ErrUnset): // the log names the variable when the notifier is left out
			p := configProblem(m, u, err)
			j.core.log.Warn("cannot check the config of a plugin; the agent runs nevertheless", "agent", m.Agent.Name, "path", p.File, "err", p.Message, "fix", p.Fix)
		}
	}
	if len(refused) > 0 {
		return &BrokenJobError{&document.Error{Problems: refused}}
	}
	j.accepted.set(m, all)
	return nil
}

// checkAttempt does what Check does, before an attempt. Its error is one line with one fix.
func (j *Jobs) checkAttempt(ctx context.Context, m *job.Manifest) error {
	err := j.Check(ctx, m)
	bad, ok := errors.AsType[*document.Error](err)
	if !ok {
		return err
	}
	p := bad.Problems[0]
	return &obstacle{pluginhost.SeverityError, errors.New(p.Message), fmt.Sprintf("%s (%s:%d)", p.Fix, p.File, p.Line)}
}

// accepted holds the manifests whose configs no plugin refused.
type accepted struct {
	mu    sync.Mutex        // protects known
	known map[string]string // their fingerprints, by path
}

func (a *accepted) has(m *job.Manifest) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	print, ok := a.known[m.Path]
	return ok && print == m.Fingerprint
}

// set records whether the configs of a manifest are accepted.
func (a *accepted) set(m *job.Manifest, fits bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = make(map[string]string)
	}
	if fits {
		a.known[m.Path] = m.Fingerprint
	} else {
		delete(a.known, m.Path)
	}
}
