package pluginhost

import (
	"maps"
	"sync"
)

// A warned remembers what a warning was logged about, so that a host logs each warning once. It has
// a lock of its own, because [Host.In] copies it, and must not wait for a refresh in progress.
type warned struct {
	mu    sync.Mutex // protects texts
	texts map[string]bool
}

// first reports whether there was no warning with this text before.
func (w *warned) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.texts[text] {
		return false
	}
	if w.texts == nil {
		w.texts = make(map[string]bool)
	}
	w.texts[text] = true
	return true
}

// copy returns the texts of all warnings.
func (w *warned) copy() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.texts)
}
