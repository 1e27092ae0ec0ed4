package pluginhost

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// renewDelay is how long the restart of a plugin waits for further changes of its config. A user
// who turns one knob often turns another right after.
const renewDelay = 300 * time.Millisecond

// A renewal is a restart of one plugin that is waiting or in progress.
type renewal struct {
	done      chan struct{} // closed when the restart is over
	restarted bool
	err       error
}

// renewals holds the waiting restarts, by plugin.
type renewals struct {
	mu      sync.Mutex // protects the fields below, and adding to all
	waiting map[*entry]*renewal
	closed  bool
	all     sync.WaitGroup // the goroutines that restart
}

// close waits for the restarts in progress, which end when the host is closed. No other begins.
func (rs *renewals) close() {
	rs.mu.Lock()
	rs.closed = true
	rs.mu.Unlock()
	rs.all.Wait()
}

// Reconfigure reads the config of all plugins again. It restarts one plugin with its new config, if
// the plugin is running and its dialect can do that. A broken plugin is tried again. restarted
// reports whether the plugin works with the new config. For all other settings, and for all
// plugins, use [Host.Reload].
func (h *Host) Reconfigure(ctx context.Context, plugin string) (restarted bool, err error) {
	if err := h.setup().reload(); err != nil {
		return false, err
	}
	e, err := h.find(plugin)
	if err != nil || h.setup().NoStart || !h.renewable(e) {
		return false, err
	}
	r := h.renewals.join(h, e)
	select {
	case <-r.done:
		return r.restarted, r.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// renewable reports whether a new config can change anything for a plugin now.
func (h *Host) renewable(e *entry) bool {
	if e.plugin == nil {
		return e.state == dialect.Broken
	}
	_, ok := e.plugin.(dialect.Reconfigurer)
	return ok
}

// join returns the waiting restart of a plugin, and starts one if there is none.
func (rs *renewals) join(h *Host, e *entry) *renewal {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.waiting[e]; r != nil {
		return r
	}
	r := &renewal{done: make(chan struct{})}
	if rs.closed {
		r.err = ErrClosed
		close(r.done)
		return r
	}
	if rs.waiting == nil {
		rs.waiting = make(map[*entry]*renewal)
	}
	rs.waiting[e] = r
	rs.all.Go(func() {
		defer close(r.done)
		select {
		case <-time.After(renewDelay):
		case <-h.closed:
		}
		rs.mu.Lock()
		delete(rs.waiting, e) // a later change may be too late for this restart
		rs.mu.Unlock()
		r.restarted, r.err = h.reconfigure(e)
	})
	return r
}

// reconfigure restarts a plugin with its current config. If a refresh meanwhile opens the plugin
// again with the old config, reconfigure restarts the newly opened one.
func (h *Host) reconfigure(e *entry) (restarted bool, err error) {
	ctx, cancel := h.life(context.Background())
	defer cancel()
	for {
		now, err := h.newest(e)
		if err != nil || !h.renewable(now) {
			return false, err
		}
		if now.plugin == nil {
			return h.retry(ctx, now)
		}
		err = h.renew(ctx, now)
		if ctx.Err() != nil {
			return false, ErrClosed
		}
		if e = h.roster().at(now.found); err == nil || e == now || e == nil {
			return err == nil, err
		}
	}
}

// newest waits for a refresh in progress, and returns the entry that a plugin has then. It reads
// the config once more, because a reload may have read the files before they were changed.
func (h *Host) newest(e *entry) (*entry, error) {
	h.refreshMu.Lock()
	defer h.refreshMu.Unlock()
	if h.isClosed() {
		return nil, ErrClosed
	}
	if err := h.setup().reload(); err != nil {
		return nil, err
	}
	if now := h.roster().at(e.found); now != nil {
		return now, nil
	}
	return nil, fmt.Errorf("plugin %s: %w", e.info.Name, ErrNotFound)
}

// renew restarts a running plugin with its current config.
func (h *Host) renew(ctx context.Context, e *entry) error {
	settings, err := h.setup().settings(e.names, h.roster().names)
	if err != nil {
		return err
	}
	err = e.plugin.(dialect.Reconfigurer).Reconfigure(ctx, h.fitting(e, settings))
	return h.setup().withPlaces(e.names, err)
}

// life returns a context that also ends when the host is closed.
func (h *Host) life(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-h.closed:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// retry opens a broken plugin again.
func (h *Host) retry(ctx context.Context, e *entry) (restarted bool, err error) {
	e.again.Store(true)
	if err := h.Refresh(ctx, e.found.Dialect); err != nil {
		return false, err
	}
	now := h.roster().at(e.found)
	if now == nil || now.plugin == nil {
		return false, fmt.Errorf("plugin %s still does not work: %w", e.info.Name, errOf(now))
	}
	return true, nil
}

func errOf(e *entry) error {
	if e == nil || e.err == nil {
		return ErrNotFound
	}
	return e.err
}
