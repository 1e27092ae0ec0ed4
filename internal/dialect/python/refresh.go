package python

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// Refresh loads the file again if it has changed. It is called at the start of a turn.
func (p *plugin) Refresh(ctx context.Context) { p.refresh(ctx, true) }

// refresh loads the file again if it has changed. It checks at the start of every turn (begins), at
// the first event of each new request, and otherwise at most every lookEvery. A call that arrives
// during a check uses the old code, unless it is the first of its request.
func (p *plugin) refresh(ctx context.Context, begins bool) {
	now := p.enters(hook.Request(ctx)) || begins
	if now {
		p.refreshing.Lock()
	} else if !p.refreshing.TryLock() {
		return
	}
	defer p.refreshing.Unlock()
	if !now && time.Since(p.looked) < lookEvery {
		return
	}
	p.looked = time.Now()
	if p.changed() {
		p.reload(ctx)
	}
}

// enters reports whether this is the first event of another request.
func (p *plugin) enters(request string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	other := request != "" && request != p.request
	p.request = request
	return other
}

// changed reports whether the file has changed since it was last loaded. The caller holds
// refreshing.
func (p *plugin) changed() bool {
	file, err := p.fileInfo()
	if err != nil {
		if !p.missing {
			p.reportMissing(err)
		}
		p.missing = true
		p.gone.Store(errors.Is(err, fs.ErrNotExist)) // a file that cannot be read still exists
		return false
	}
	p.missing = false
	p.gone.Store(false)
	p.mu.Lock()
	was := p.file
	p.mu.Unlock()
	return !os.SameFile(was, file) || !was.ModTime().Equal(file.ModTime()) || was.Size() != file.Size()
}

// reportMissing logs that the file was removed, or cannot be read.
func (p *plugin) reportMissing(err error) {
	if errors.Is(err, fs.ErrNotExist) {
		p.log.Warn("plugin's file was removed, so it is not called any more", "file", p.path, "fix", "put the file back, unless you meant to remove the plugin")
		return
	}
	p.log.Warn("plugin's file cannot be checked for changes, so its code stays as it is", "err", err, "fix", "make the file readable")
}

// fileInfo returns the state of the file. Some editors remove the old file before they write the
// new one, so a file counts as removed only if it does not come back within replaceWait.
func (p *plugin) fileInfo() (os.FileInfo, error) {
	file, err := os.Stat(p.path)
	for waited := time.Duration(0); errors.Is(err, fs.ErrNotExist) && !p.missing && waited < replaceWait; waited += replaceWait / 10 {
		time.Sleep(replaceWait / 10)
		file, err = os.Stat(p.path)
	}
	return file, err
}

// reload loads a changed file. If the file is faulty, the old code stays.
func (p *plugin) reload(ctx context.Context) {
	if err := p.Reload(ctx); err != nil {
		fix := "correct the file"
		if fault, ok := errors.AsType[*LoadError](err); ok {
			fix = fault.Fix()
		}
		p.log.Warn("plugin was changed, and cannot be loaded: "+p.instead(), "err", err, "fix", fix)
	}
}

// instead returns what happens if the changed file cannot be loaded.
func (p *plugin) instead() string {
	if p.outOfOrder() != nil {
		return "it is not called"
	}
	return "the old code stays"
}

// Reload loads the file again.
func (p *plugin) Reload(ctx context.Context) error {
	i, err := p.runner.live(ctx, p.runner.restartWait)
	if err != nil {
		return err
	}
	had := p.described().Hooks
	if err := p.load(ctx, i, methodReload); err != nil {
		if p.outOfOrder() != nil {
			p.fail(err) // there is no old code, so this is the latest reason
		}
		return err
	}
	have := p.described().Hooks
	p.log.Info("plugin reloaded", "hooks", have)
	if !slices.Equal(had, have) && p.rt.HooksChanged != nil {
		p.rt.HooksChanged()
	}
	return nil
}
