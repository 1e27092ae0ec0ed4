package pluginhost

import (
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// An Offer is something that a plugin has beside its tools.
type Offer = dialect.Offer

// A Change is news of what plugins have to offer.
type Change = dialect.Change

// watchers are told when plugins have something else to offer.
type watchers struct {
	mu   sync.Mutex // protects the fields below
	last int
	all  map[int]func(Change)
}

// Watch has f told when plugins have something else to offer: when they come, go or change their
// minds. It must return at once. The function that is returned ends that.
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

// replaced tells that other plugins are there.
func (h *Host) replaced() {
	for _, kind := range []dialect.ChangeKind{dialect.ToolsChanged, dialect.PromptsChanged, dialect.ResourcesChanged} {
		h.changed(Change{Kind: kind})
	}
}

// Offers lists what plugins have beside their tools, in the order of the plugins. Of two with one
// name the first counts.
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

// tools are those that a plugin has now.
func (e *entry) tools() []Tool {
	if lister, ok := e.plugin.(dialect.Lister); ok {
		return lister.Tools()
	}
	return e.info.Tools
}

// toolOwner is whose a tool is; nil: nobody's. Tools that may come and go give way to those that
// stay.
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
