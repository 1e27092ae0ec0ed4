package pluginhost

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Refresh searches for plugins again. It opens new ones, closes those whose files are gone, and
// tries broken ones again if their files have changed. Working plugins go on undisturbed. With
// names of dialects, Refresh searches only for their plugins.
//
// Refresh does everything or nothing. If it fails, or ctx ends before every plugin has started, the
// host stays as it was, and the plugins that were started are closed.
func (h *Host) Refresh(ctx context.Context, dialects ...string) error {
	if dialects == nil {
		dialects = h.setup().names()
	}
	if h.unchanged(ctx, dialects) {
		return nil
	}
	return h.refresh(ctx, dialects)
}

// unchanged reports whether nothing has changed since the last search of these dialects. It does
// not take refreshMu, so that it can be called before every turn.
func (h *Host) unchanged(ctx context.Context, dialects []string) bool {
	chosen, err := h.setup().chosen()
	if err != nil || h.setup().NoSearch || h.setup().Dirs != nil || len(h.setup().Paths) > 0 || h.isClosed() {
		return false
	}
	r := h.roster()
	for _, d := range chosen {
		if slices.Contains(dialects, d.Name()) && !r.unchanged(ctx, d.Name(), h.setup().find(d)) {
			return false
		}
	}
	return true
}

func (r *roster) unchanged(ctx context.Context, name string, found []dialect.Found) bool {
	known := 0
	for _, e := range r.entries {
		if e.found.Dialect == name {
			known++
		}
	}
	return known == len(found) && !slices.ContainsFunc(found, func(f dialect.Found) bool {
		e := r.at(f)
		if e != nil && e.found.Called != f.Called {
			e.checkFile(ctx) // to get its new name
		}
		return e == nil || e.mustReopen(stampOf(f.Path))
	})
}

// checkFile lets a plugin load its file again if it has changed.
func (e *entry) checkFile(ctx context.Context) {
	if p, ok := e.plugin.(dialect.Refresher); ok {
		p.Refresh(ctx)
	}
}

// refresh makes a new roster, which replaces the old one.
//
//	search          lists the plugins and reuses the entries that are known
//	start           opens new plugins
//	wire            puts hooks on the bus and lists tools
//	retire          closes plugins that are gone, after their last event
func (h *Host) refresh(ctx context.Context, dialects []string) error {
	h.refreshMu.Lock()
	defer h.refreshMu.Unlock()
	if h.isClosed() {
		return ErrClosed
	}
	return h.replaceRoster(ctx, dialects, false)
}

// replaceRoster does the work of refresh; the caller holds refreshMu. again means that everything
// is read again: see [Host.Reload].
func (h *Host) replaceRoster(ctx context.Context, dialects []string, again bool) error {
	before := h.roster()
	now, err := h.search(before, dialects, again)
	if err != nil {
		return err
	}
	if !again && h.plugins.Load() != nil && slices.Equal(now.entries, before.entries) && slices.Equal(now.names, before.names) {
		return nil // no plugin was added, removed or changed
	}
	ctx, end := h.life(ctx)
	defer end()
	h.start(ctx, now)
	if err = ctx.Err(); err == nil { // a plugin that did not start because ctx ended must not be listed as broken
		if again {
			h.keepWorking(before, now)
		} else {
			now.kept = before.stillKept(now)
		}
		err = h.wire(now)
	}
	if err != nil {
		if h.isClosed() {
			err = ErrClosed
		}
		return errors.Join(err, h.closeMissing(now, before))
	}
	h.warnOfNames(now)
	h.warnOfProject()
	return h.retire(before, now)
}

// stillKept returns those of r.kept that are also in the new roster.
func (r *roster) stillKept(now *roster) []keptEntry {
	return slices.DeleteFunc(slices.Clone(r.kept), func(k keptEntry) bool { return !slices.Contains(now.entries, k.entry) })
}

// closeMissing closes, in parallel, the plugins that are in one roster and not in the other.
func (h *Host) closeMissing(in, notIn *roster) error {
	errs := make([]error, len(in.entries)) // each goroutine owns one element
	watch := h.stopWatch(in.entries)
	if h.plugins.Load() != nil {
		watch.tell = nil // the host is open, and no command waits for this
	}
	var closing sync.WaitGroup
	for i, e := range in.entries {
		if e.plugin != nil && !slices.Contains(notIn.entries, e) {
			closing.Go(func() {
				defer watch.begin(e)()
				errs[i] = e.end()
			})
		}
	}
	closing.Wait()
	return errors.Join(errs...)
}
