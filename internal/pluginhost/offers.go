package pluginhost

import (
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// An Offer is a prompt or a resource of a plugin: anything that it offers beside tools.
type Offer = dialect.Offer

// A Change says that the tools or offers of plugins have changed.
type Change = dialect.Change

// watchers are the functions that are called when the tools or offers of plugins change.
type watchers struct {
	mu   sync.Mutex // protects the fields below
	last int
	all  map[int]func(Change)
}

// Watch calls f whenever the tools or offers of plugins change. f must return at once. After stop,
// f is not called for new changes. If a change is just being reported, f may still be called for
// it.
func (h *Host) Watch(f func(Change)) (stop func()) {
	h.watching.mu.Lock()
	defer h.watching.mu.Unlock()
	if h.watching.all == nil {
		h.watching.all = make(map[int]func(Change))
	}
	h.watching.last++
	id := h.watching.last
	h.watching.all[id] = f
	return func() {
		h.watching.mu.Lock()
		defer h.watching.mu.Unlock()
		delete(h.watching.all, id)
	}
}

func (h *Host) changed(c Change) {
	h.watching.mu.Lock()
	watching := make([]func(Change), 0, len(h.watching.all))
	for _, f := range h.watching.all {
		watching = append(watching, f)
	}
	h.watching.mu.Unlock()
	for _, f := range watching {
		f(c)
	}
}

// replaced reports that the plugins have been replaced.
func (h *Host) replaced() {
	for _, kind := range []dialect.ChangeKind{dialect.ToolsChanged, dialect.PromptsChanged, dialect.ResourcesChanged} {
		h.changed(Change{Kind: kind})
	}
}

// Offers lists the prompts and resources of plugins, in the order of the plugins. If two have the
// same name, only the first is listed.
func (h *Host) Offers() []Offer {
	var out []Offer
	for _, e := range h.roster().entries {
		lister, ok := e.plugin.(dialect.Lister)
		if !ok {
			continue
		}
		for _, o := range lister.Offers() {
			if !slices.ContainsFunc(out, func(other Offer) bool { return other.Kind == o.Kind && other.Name == o.Name }) {
				out = append(out, o)
			}
		}
	}
	return out
}

// tools returns the plugin's current tools.
func (e *entry) tools() []Tool {
	if lister, ok := e.plugin.(dialect.Lister); ok {
		return lister.Tools()
	}
	return e.info.Tools
}

// toolOwner returns the plugin that has a tool, or nil. Plugins with a fixed list of tools come
// before those whose tools may change.
func (r *roster) toolOwner(name string) *entry {
	if e := r.tools[name]; e != nil {
		return e
	}
	for _, e := range r.entries {
		if lister, ok := e.plugin.(dialect.Lister); ok &&
			slices.ContainsFunc(lister.Tools(), func(t Tool) bool { return t.Name == name }) {
			return e
		}
	}
	return nil
}
