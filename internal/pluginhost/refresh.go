package pluginhost

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Refresh looks for plugins again: those that have come are opened, those whose files are gone are
// closed, and broken ones whose files have changed get another try. Those at work go on
// undisturbed. With names of dialects, only their plugins are looked for.
//
// It is all or nothing: where it fails, or ctx ends before every plugin has started, the host is as
// it was, and what was started is ended.
func (h *Host) Refresh(ctx context.Context, dialects ...string) error {
	if dialects == nil {
		dialects = h.setup().names()
	}
	if h.settled(dialects) {
		return nil
	}
	return h.refresh(ctx, dialects)
}

// settled tells whether the plugins of these dialects are as they were found last: nothing has
// come, gone or been mended. It looks and locks nothing, so that it can be asked before every turn.
func (h *Host) settled(dialects []string) bool {
	chosen, err := h.setup().chosen()
	if err != nil || h.setup().NoSearch || h.setup().Dirs != nil || len(h.setup().Paths) > 0 || h.isClosed() {
		return false
	}
	r := h.roster()
	for _, d := range chosen {
		if slices.Contains(dialects, d.Name()) && !r.settled(d.Name(), h.setup().find(d)) {
			return false
		}
	}
	return true
}

func (r *roster) settled(name string, found []dialect.Found) bool {
	known := 0
	for _, e := range r.entries {
		if e.found.Dialect == name {
			known++
		}
	}
	return known == len(found) && !slices.ContainsFunc(found, func(f dialect.Found) bool {
		e := r.at(f)
		return e == nil || e.deserves(stampOf(f.Path))
	})
}

// refresh makes a new roster and puts it in the place of the old one.
//
//	search          what there is, and what is known of it already
//	start           opens what is new
//	wire            hooks to the bus, tools to the list
//	dismiss         those that are gone
func (h *Host) refresh(ctx context.Context, dialects []string) error {
	h.turning.Lock()
	defer h.turning.Unlock()
	if h.isClosed() {
		return ErrClosed
	}
	return h.renew(ctx, dialects, false)
}

// renew is refresh for who holds turning. Again says that everything is read again: see
// [Host.Reload].
func (h *Host) renew(ctx context.Context, dialects []string, again bool) error {
	before := h.roster()
	now, err := h.search(before, dialects, again)
	if err != nil {
		return err
	}
	if !again && h.plugins.Load() != nil && slices.Equal(now.entries, before.entries) && slices.Equal(now.names, before.names) {
		return nil // nobody has come, gone or changed
	}
	h.start(ctx, now)
	if again {
		h.keepWorking(before, now)
	} else {
		now.kept = before.stillKept(now)
	}
	if err = ctx.Err(); err == nil { // a plugin that did not start because of it is not to be listed as broken
		err = h.wire(now)
	}
	if err != nil {
		return errors.Join(err, h.dismissThose(now, before))
	}
	h.warnOfNames(now)
	h.warnOfProject()
	return h.retire(before, now)
}

// stillKept are the plugins of a roster that went on as they were, and still do.
func (r *roster) stillKept(now *roster) []keptEntry {
	return slices.DeleteFunc(slices.Clone(r.kept), func(k keptEntry) bool { return !slices.Contains(now.entries, k.entry) })
}

// dismissThose closes the plugins that are in one roster and not in the other, side by side.
func (h *Host) dismissThose(in, notIn *roster) error {
	errs := make([]error, len(in.entries)) // each goroutine owns one element
	var farewells sync.WaitGroup
	for i, e := range in.entries {
		if e.plugin != nil && !slices.Contains(notIn.entries, e) {
			farewells.Go(func() { errs[i] = e.end() })
		}
	}
	farewells.Wait()
	return errors.Join(errs...)
}
