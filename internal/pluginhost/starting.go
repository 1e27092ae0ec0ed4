package pluginhost

import (
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// A Starting reports the progress of starting plugins, or of stopping them.
type Starting struct {
	Names []string // the plugins that are being started or stopped, in the order in which they began
	Ready int      // how many have started
	Ended int      // how many have started or failed, or stopped
	All   int      // how many are started or stopped together
}

// A startWatch reports the progress of plugins that are started or stopped together.
type startWatch struct {
	tell func(Starting) // nil: the progress is not reported

	mu  sync.Mutex // protects now, and serialises tell
	now Starting
}

// begin reports that a plugin is being started or stopped. The caller calls end when that is over.
func (w *startWatch) begin(e *entry) (end func()) {
	if w.tell == nil {
		return func() {}
	}
	w.change(func(s *Starting) { s.Names = append(s.Names, e.found.Name) })
	return func() {
		w.change(func(s *Starting) {
			s.Ended++
			if e.state == dialect.Ready {
				s.Ready++
			}
			if i := slices.Index(s.Names, e.found.Name); i >= 0 {
				s.Names = slices.Delete(s.Names, i, i+1)
			}
		})
	}
}

func (w *startWatch) change(f func(*Starting)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.now)
	told := w.now
	told.Names = slices.Clone(w.now.Names)
	w.tell(told)
}
