package patchbay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
)

// start opens the plugins side by side, a few at a time: more would only make
// them wait for each other's processor while their handshake clock runs.
func (h *Host) start(ctx context.Context, r *roster) {
	found := r.foundIn()
	h.found.Store(&found)
	places := make(chan struct{}, 4*runtime.NumCPU())
	var started sync.WaitGroup
	for _, e := range r.entries {
		if e.state != "" {
			continue
		}
		started.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			h.open(ctx, e)
		})
	}
	started.Wait()
	h.refuseTwins(r)
}

// open starts one plugin. Only this goroutine touches the entry meanwhile.
func (h *Host) open(ctx context.Context, e *entry) {
	log := h.setup.Logger.With("plugin", e.found.Name, "dialect", e.found.Dialect)
	began := time.Now()
	rt := h.runtime(log)
	if err := h.confine(e, rt); err != nil {
		e.fail(err)
		log.Warn("plugin left out", "err", err)
		return
	}
	plugin, err := e.dialect.Open(ctx, e.found, e.settings, rt)
	if errors.Is(err, dialect.ErrUnsupported) {
		e.state, e.err = dialect.Unsupported, err
		return
	}
	if err != nil {
		e.fail(h.lacking(e, err))
		e.found.Problems = append(e.found.Problems, problemsOf(err)...)
		log.Warn("plugin left out", "err", err)
		return
	}
	e.plugin, e.info, e.state = plugin, plugin.Info(), dialect.Ready
	log.Debug("plugin ready", "name", e.info.Name, "dur", time.Since(began))
	if e.info.Name != e.found.Name {
		h.rename(e)
	}
}

// problemsOf are the lines of a plugin's file that an error is about, where it knows them.
func problemsOf(err error) []dialect.Problem {
	var located interface {
		error
		Problems() []dialect.Problem
	}
	if errors.As(err, &located) {
		return located.Problems()
	}
	return nil
}

// rename applies the configuration under the name a plugin gave itself.
func (h *Host) rename(e *entry) {
	if _, ok := h.setup.config.Plugins[e.info.Name]; !ok {
		return
	}
	h.configure(e, e.info.Name)
	if err := h.sameBounds(e); err != nil {
		e.fail(err)
	}
	if e.state != dialect.Ready {
		h.dismiss(e)
	}
}

// refuseTwins leaves out the second of two ready plugins with one name in one
// dialect: their tools and settings could not be told apart. One that was there
// before the others is the first.
func (h *Host) refuseTwins(r *roster) {
	type key struct{ dialect, name string }
	first := make(map[key]*entry)
	for _, e := range h.roster().entries {
		if e.state == dialect.Ready && slices.Contains(r.entries, e) {
			first[key{e.found.Dialect, e.info.Name}] = e
		}
	}
	for _, e := range r.entries {
		if e.state != dialect.Ready {
			continue
		}
		k := key{e.found.Dialect, e.info.Name}
		if twin := first[k]; twin != nil && twin != e {
			e.fail(fmt.Errorf("the name %s is taken by %s", e.info.Name, twin.found.Path))
			h.setup.Logger.Warn("plugin left out", "plugin", e.info.Name, "dialect", e.found.Dialect, "err", e.err)
			h.dismiss(e)
			continue
		}
		first[k] = e
	}
}

// dismiss ends a plugin that was opened only to learn that it is not wanted.
func (h *Host) dismiss(e *entry) {
	if err := e.plugin.Close(context.Background()); err != nil {
		h.setup.Logger.Warn("plugin did not end well", "plugin", e.info.Name, "dialect", e.found.Dialect, "err", err)
	}
	e.plugin = nil
}

// unavailable is the error of a call to a plugin that is not ready.
func (e *entry) unavailable() error {
	err := hook.Failure(hook.Unavailable, fmt.Errorf("%s: %w", e.state, e.err))
	err.Plugin, err.Dialect = e.info.Name, e.found.Dialect
	return err
}
