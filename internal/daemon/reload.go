package daemon

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Reload reads everything again: configuration, secrets, plugins and agents. Turns and runs under
// way lose no event: see [pluginhost.Host.Reload]. It is all or nothing: where a file is at fault
// everything stays as it was, which is logged, a finding of the doctor's, and part of the health,
// until the next reload. What is fixed for the life of the process is a finding as well.
func (c *Core) Reload(ctx context.Context) error {
	c.faults.reloading.Lock()
	defer c.faults.reloading.Unlock()
	if err := c.reload(ctx); err != nil {
		c.faults.set(reloadFindings(err), err)
		c.log.Error("nothing was reloaded: everything stays as it was", "err", err)
		return err
	}
	fixed := fixedFindings(c.opened, c.Config())
	c.faults.set(fixed, nil)
	c.log.Info("everything was reloaded", "plugins", len(c.Host.Plugins()))
	for _, f := range fixed {
		c.log.Warn(f.Problem, "path", f.Where)
	}
	return nil
}

// reload does first what can fail, and changes nothing before.
func (c *Core) reload(ctx context.Context) error {
	files, err := pluginhost.ReadFiles(c.Dirs)
	if err != nil {
		return err
	}
	dirs, err := c.Dirs.JobDirs(files.Config)
	if err != nil {
		return err
	}
	m, err := c.openModel(c.options, files.Config, files.Secrets)
	if err != nil {
		return &ModelError{err}
	}
	if err := c.Host.Reload(ctx, files); err != nil {
		return err
	}
	c.projects.each("reload", func(host *pluginhost.Host) error { return host.Reload(ctx, files) })
	c.config.Store(files.Config)
	c.model.Store(&m)
	c.Jobs.setDirs(dirs, files.Secrets)
	c.Jobs.Reload()
	return nil
}

// reloadFindings are what a reload that failed comes to.
func reloadFindings(err error) []pluginhost.Finding {
	bad, ok := errors.AsType[*config.Error](err)
	if !ok {
		return []pluginhost.Finding{{Severity: pluginhost.SeverityError, Problem: "nothing was reloaded: " + err.Error()}}
	}
	var findings []pluginhost.Finding
	for _, p := range bad.Problems {
		p.Message = "nothing was reloaded: " + p.Message
		findings = append(findings, inFile(pluginhost.SeverityError, "", p))
	}
	return findings
}

// fixedFindings name the tables that have changed and take effect when the process is started
// again.
func fixedFindings(before, now *config.Config) []pluginhost.Finding {
	var changed []string
	if !reflect.DeepEqual(before.Server, now.Server) {
		changed = append(changed, "[server]")
	}
	if before.Telemetry != now.Telemetry {
		changed = append(changed, "[telemetry]")
	}
	if !reflect.DeepEqual(before.Engine, now.Engine) {
		changed = append(changed, "[engine]")
	}
	if len(changed) == 0 {
		return nil
	}
	return []pluginhost.Finding{{Severity: pluginhost.SeverityWarning, Where: now.File(),
		Problem: strings.Join(changed, " and ") + ": what has changed there takes effect when the daemon is started again", Fix: "restart the daemon"}}
}

// faults are what came of the last reload.
type faults struct {
	reloading sync.Mutex // held by a reload: one at a time

	mu       sync.Mutex // protects the fields below
	findings []pluginhost.Finding
	failed   *reloadHealth // nil: it did not fail
}

func (f *faults) set(findings []pluginhost.Finding, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.findings, f.failed = findings, nil
	if err != nil {
		f.failed = &reloadHealth{Time: time.Now().UTC(), Error: err.Error()}
	}
}

func (f *faults) list() []pluginhost.Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.findings
}

func (f *faults) health() *reloadHealth {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}
