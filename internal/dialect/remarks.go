package dialect

import (
	"log/slog"
	"sync"
)

// mostRemarks limits how many different notes of one plugin are logged. The plugin chooses their
// text.
const mostRemarks = 50

// Remarks logs what is wrong with a plugin's answers, each note once for a hook or tool. The trace
// has the note for every event. The zero value is ready to use, and safe for concurrent use.
type Remarks struct {
	mu     sync.Mutex      // protects logged: hooks are called by several goroutines
	logged map[string]bool // by name and note
}

// Warn logs the notes on an answer of a hook or tool. kind says which of the two it is.
func (r *Remarks) Warn(log *slog.Logger, kind, name string, notes []string, more ...any) {
	if len(notes) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, note := range notes {
		key := name + ": " + note
		if r.logged[key] || len(r.logged) >= mostRemarks {
			continue
		}
		if r.logged == nil {
			r.logged = make(map[string]bool)
		}
		r.logged[key] = true
		log.Warn(note, append([]any{kind, name}, more...)...)
	}
}
