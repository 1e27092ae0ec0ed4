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

// Reload reads everything again: configuration, secrets, plugins and agents. Running turns and runs
// lose no event; see [pluginhost.Host.Reload]. If a file is wrong, nothing changes: the error is
// logged, and the doctor and the health show it until the next reload. Changed settings that need a
// restart of the process are a finding too.
//
// If ctx ends or the core is closed, because the process ends, nothing is reported.
func (c *Core) Reload(ctx context.Context) error {
	return c.reloadTelling(ctx, func(*pluginhost.Host) {})
}

// reloadTelling is Reload. It calls reloaded with each set of plugins that has the new settings.
func (c *Core) reloadTelling(ctx context.Context, reloaded func(*pluginhost.Host)) error {
	if err := c.reloadOwn(ctx); err != nil {
		return err
	}
	reloaded(c.Host)
	c.projects.each(ctx, "reload", func(ctx context.Context, host *pluginhost.Host) error {
		defer reloaded(host)
		return host.Reload(ctx, c.files.Load)
	})
	if ctx.Err() == nil {
		c.log.Info("everything was reloaded", "plugins", len(c.Host.Plugins()))
	}
	return nil
}

// reloadOwn reloads everything but the plugins in other projects, and keeps the result as c.faults.
func (c *Core) reloadOwn(ctx context.Context) error {
	c.faults.reloading.Lock()
	defer c.faults.reloading.Unlock()
	if err := c.reload(ctx); err != nil {
		if ctx.Err() == nil && !errors.Is(err, pluginhost.ErrClosed) {
			c.faults.set(reloadFindings(err), err)
			c.log.Error("nothing was reloaded: everything stays as it was", "err", err)
		}
		return err
	}
	unapplied := restartFindings(c.opened, c.Config())
	c.faults.set(unapplied, nil)
	for _, f := range unapplied {
		c.log.Warn(f.Problem, "path", f.Where)
	}
	return nil
}

// reloadFor reloads everything, and returns when host has the new settings or ctx ends. The other
// sets of plugins get the settings meanwhile, however long their plugins take to start.
func (c *Core) reloadFor(ctx context.Context, host *pluginhost.Host) {
	ready := make(chan struct{})
	tell := sync.OnceFunc(func() { close(ready) })
	c.projects.run(func(ctx context.Context) {
		defer tell()
		_ = c.reloadTelling(ctx, func(other *pluginhost.Host) { // it logs its error
			if other == host {
				tell()
			}
		})
	})
	select {
	case <-ready:
	case <-ctx.Done():
	case <-c.projects.life.Done(): // the daemon ends, and may not have begun the reload
	}
}

// reload does all steps that can fail before it changes anything.
func (c *Core) reload(ctx context.Context) error {
	files, err := pluginhost.ReadFiles(c.Dirs)
	if err != nil {
		return err
	}
	dirs, err := c.Dirs.JobDirs(files.Config)
	if err != nil {
		return err
	}
	m, err := c.openModel(*c.options.Load(), files.Config, files.Secrets)
	if err != nil {
		return &ModelError{err}
	}
	if err := c.Host.Reload(ctx, func() *pluginhost.Files { return files }); err != nil {
		return err
	}
	c.files.Store(files)
	c.model.Store(&m)
	c.Jobs.setDirs(dirs, files.Secrets)
	c.Jobs.Reload()
	return nil
}

// reloadFindings returns the findings about a reload that failed.
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

// restartFindings lists the changed tables of the configuration that take effect only after a
// restart.
func restartFindings(before, now *config.Config) []pluginhost.Finding {
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
		Problem: strings.Join(changed, " and ") + ": the change takes effect when the daemon is restarted", Fix: "restart the daemon"}}
}

// faults holds the result of the last reload.
type faults struct {
	reloading sync.Mutex // held during a reload

	mu       sync.Mutex // protects the fields below
	findings []pluginhost.Finding
	failed   *reloadFailure // nil: it did not fail
}

func (f *faults) set(findings []pluginhost.Finding, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.findings, f.failed = findings, nil
	if err != nil {
		f.failed = &reloadFailure{Time: time.Now().UTC(), Error: err.Error()}
	}
}

func (f *faults) list() []pluginhost.Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.findings
}

func (f *faults) health() *reloadFailure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}
