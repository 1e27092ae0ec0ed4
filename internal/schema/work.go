package schema

// maxEvaluations limits one check, counted in schemas applied to values. A short schema can demand
// more than there is time for: forty definitions, each an allOf with twice the next one.
//
// maxNesting limits how deep they are nested: a schema may refer to itself without end, and no
// config or list of arguments has a thousand levels.
const (
	maxEvaluations = 100_000
	maxNesting     = 1000
)

// glances is how many small steps, such as looking up a name, cost as much as applying a schema.
const glances = 64

// A workload counts down the evaluations that are left. At 0 the check ends, and its results so far
// are useless.
type workload struct{ left, depth int }

func newWorkload() workload { return workload{left: maxEvaluations} }

// begin subtracts the cost of applying a node to a value, and reports whether enough was left. If
// so, end must be called.
func (w *workload) begin(n *node, v any) bool {
	w.left -= cost(n, v)
	if w.left <= 0 || w.depth == maxNesting {
		w.left = 0
		return false
	}
	w.depth++
	return true
}

func (w *workload) end() { w.depth-- }

// over reports whether the check was ended early.
func (w *workload) over() bool { return w.left <= 0 }

// cost returns the cost of a node itself, without the nodes that it applies.
func cost(n *node, v any) int {
	total := 1 + len(n.enum)
	if n.meta != 0 {
		total += size(v)
	}
	switch v := v.(type) {
	case string:
		total += len(v) / (glances * glances)
	case []any:
		if total += len(v) / glances; n.unique {
			total += size(v) / glances
		}
	case map[string]any:
		total += len(v)*len(n.patterns) + (len(v)+len(n.required)+len(n.dependentRequired))/glances
	}
	return total
}
