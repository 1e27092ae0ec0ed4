package pluginhost

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// oddities collects problems that were noticed while the plugin ran, and that its manifest does not
// show. Each is stored once, because a restarted plugin shows it again.
type oddities struct {
	mu       sync.Mutex // protects the fields below
	unusable []dialect.Problem
	odd      []dialect.Problem
}

// mostOddities limits how many are stored for one plugin. The log has all of them.
const mostOddities = 100

// add stores a problem. unusable means that the plugin declares something that cannot be used.
func (o *oddities) add(p dialect.Problem, unusable bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := &o.odd
	if unusable {
		list = &o.unusable
	}
	if len(*list) < mostOddities && !slices.Contains(*list, p) {
		*list = append(*list, p)
	}
}

// problems returns two lists: the problems are the declarations that cannot be used, and the
// warnings are the rest.
func (o *oddities) problems() (problems, warnings []dialect.Problem) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.unusable), slices.Clone(o.odd)
}

// problems returns two lists. The problems are the faults in the plugin's files, the declarations
// that cannot be used, and a project's config that is left out. The warnings are everything else
// that is unusual.
func (h *Host) problems(e *entry) (problems, warnings []dialect.Problem) {
	unusable, odd := e.odd.problems()
	problems = slices.Concat(e.found.Problems, unusable)
	for i, p := range slices.Backward(problems) {
		if p.Fix == "" && e.holds(p.Path) {
			problems[i].Fix = pageFix(e.found.Dialect) // once, for the last of them
			break
		}
	}
	if e.state == "" || e.state == dialect.Ready {
		if p, left := h.leftOutConfig(e); left {
			problems = append(problems, p)
		}
	}
	return problems, slices.Concat(e.found.Warnings, odd)
}

// pageFix returns the fix for a problem that has no better one.
func pageFix(dialectName string) string {
	return "correct that as " + page(dialectName) + " says"
}

// page returns the address of the page for authors of plugins of a dialect.
func page(dialectName string) string {
	return "https://github.com/patchbay-dev/patchbay/blob/main/docs/protocols/" + dialectName + ".md"
}

// holds reports whether a file belongs to the plugin. The page of its protocol does not help with a
// mistake in the configuration.
func (e *entry) holds(file string) bool {
	rel, err := filepath.Rel(e.found.Path, file)
	return err == nil && filepath.IsLocal(rel)
}
