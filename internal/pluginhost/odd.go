package pluginhost

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// oddities are what was found odd about a plugin once it ran: what its manifest alone does not
// show. Each is kept once: a plugin that is restarted says the same again.
type oddities struct {
	mu       sync.Mutex // protects the fields below
	unusable []dialect.Problem
	odd      []dialect.Problem
}

// mostOddities bounds what is kept of one plugin. All of it is in the log.
const mostOddities = 100

// add keeps one. unusable: something that the plugin declares cannot be used.
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

// problems are what cannot be used, warnings the rest.
func (o *oddities) problems() (problems, warnings []dialect.Problem) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.unusable), slices.Clone(o.odd)
}

// problems are what is wrong with a plugin's files, and what it declares and cannot be used.
// warnings are the rest of what is odd.
func (e *entry) problems() (problems, warnings []dialect.Problem) {
	unusable, odd := e.odd.problems()
	problems = slices.Concat(e.found.Problems, unusable)
	for i, p := range slices.Backward(problems) {
		if p.Fix == "" && e.holds(p.Path) {
			problems[i].Fix = lookUp(e.found.Dialect) // once, below the last of them
			break
		}
	}
	return problems, slices.Concat(e.found.Warnings, odd)
}

// lookUp is how to fix what nothing better is known for.
func lookUp(dialectName string) string {
	return "the author's page of the " + dialectName + " protocol says what its plugins look like"
}

// holds tells whether a file is the plugin's own. A fault of the configuration is not mended by the
// protocol's page.
func (e *entry) holds(file string) bool {
	rel, err := filepath.Rel(e.found.Path, file)
	return err == nil && filepath.IsLocal(rel)
}
