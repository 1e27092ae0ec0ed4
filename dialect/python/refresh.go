package python

import (
	"context"
	"os"
	"slices"
	"time"
)

// refresh loads the file again where it has changed: at the beginning of every
// turn (now), and otherwise when it was not looked at for a while. A call that
// comes as another one looks goes on with the old code, unless a turn begins.
func (p *plugin) refresh(ctx context.Context, now bool) {
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

// changed looks at the file. The caller holds refreshing.
func (p *plugin) changed() bool {
	file, err := os.Stat(p.path)
	if err != nil {
		if !p.missing {
			p.log.Warn("plugin's file is gone, its code stays", "err", err)
		}
		p.missing = true
		return false
	}
	p.missing = false
	p.mu.Lock()
	was := p.file
	p.mu.Unlock()
	return !os.SameFile(was, file) || !was.ModTime().Equal(file.ModTime()) || was.Size() != file.Size()
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
