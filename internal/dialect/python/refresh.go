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

// Refresh loads the file again where it has changed: a turn begins.
func (p *plugin) Refresh(ctx context.Context) { p.refresh(ctx, true) }

// refresh loads the file again where it has changed: at the beginning of every turn (begins), at
// the first event of every other request, and otherwise when it was not looked at for a while. A
// call that comes as another one looks goes on with the old code, unless it is the first of its
// request.
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

// enters tells whether a request is another one than the last event was of.
func (p *plugin) enters(request string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	other := request != "" && request != p.request
	p.request = request
	return other
}

// changed looks at the file. The caller holds refreshing.
func (p *plugin) changed() bool {
	file, err := p.look()
	if err != nil {
		if !p.missing {
			p.log.Warn("plugin's file cannot be looked at", "err", err, "removed", errors.Is(err, fs.ErrNotExist))
		}
		p.missing = true
		p.gone.Store(errors.Is(err, fs.ErrNotExist)) // one that cannot be read is still there
		return false
	}
	p.missing = false
	p.gone.Store(false)
	p.mu.Lock()
	was := p.file
	p.mu.Unlock()
	return !os.SameFile(was, file) || !was.ModTime().Equal(file.ModTime()) || was.Size() != file.Size()
}

// look is the file's state. An editor may take the old file away before it puts the new one in its
// place: a file is removed where it does not come back.
func (p *plugin) look() (os.FileInfo, error) {
	file, err := os.Stat(p.path)
	for waited := time.Duration(0); errors.Is(err, fs.ErrNotExist) && !p.missing && waited < replaceWait; waited += replaceWait / 10 {
		time.Sleep(replaceWait / 10)
		file, err = os.Stat(p.path)
	}
	return file, err
}

// reload loads a changed file; one that is at fault leaves the old code where it is.
func (p *plugin) reload(ctx context.Context) {
	if err := p.Reload(ctx); err != nil {
		p.log.Warn("plugin was changed, and cannot be loaded", "err", err)
	}
}

// Reload loads the file again.
func (p *plugin) Reload(ctx context.Context) error {
	i, err := p.runner.live(ctx, restartWait)
	if err != nil {
		return err
	}
	had := p.described().Hooks
	if err := p.load(ctx, i, methodReload); err != nil {
		if p.outOfOrder() != nil {
			p.fail(err) // there is no old code: this is the latest reason
		}
		return err
	}
	have := p.described().Hooks
	p.log.Info("plugin reloaded", "hooks", have)
	if !slices.Equal(had, have) && p.rt.Rewire != nil {
		p.rt.Rewire()
	}
	return nil
}
