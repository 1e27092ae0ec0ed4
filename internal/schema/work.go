package schema

// maxEvaluations bounds one check, in subschemas applied to values. A schema of a few lines can ask
// for more than there is time for: forty definitions, each twice an allOf of the next.
//
// maxNesting bounds how deep they are within each other: a schema that refers to itself has no end,
// and no config or list of arguments is a thousand levels deep.
const (
	maxEvaluations = 100_000
	maxNesting     = 1000
)

// glances is how many small things, such as looking up a name, cost as much as applying a schema.
const glances = 64

// A workload counts down the evaluations that are left. At 0 the check is over, and what it has
// found so far says nothing.
type workload struct{ left, depth int }

func newWorkload() workload { return workload{left: maxEvaluations} }

// begin takes the cost of applying a node to a value, and reports whether there was enough left.
// Then, end follows.
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

// over reports whether the check was given up.
func (w *workload) over() bool { return w.left <= 0 }

// cost is what a node costs by itself, without the nodes that it applies.
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
