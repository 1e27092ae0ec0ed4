package dialect

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
)

// A Spot is one of a protocol's hooks at one point. Each dialect has tables of spots: they say how
// a hook is called at a point, and what its answers mean there. In the functions below, T is the
// type of a table's entries.
type Spot struct {
	Hook  string // in the words of the protocol
	Point hook.Point
}

// Points returns the points of a table, in its order.
func Points[T any](table []T, spot func(*T) Spot) []hook.Point {
	var points []hook.Point
	for i := range table {
		points = append(points, spot(&table[i]).Point)
	}
	return points
}

// Connection finds the entry for a spot in the tables of a dialect. The error names the points to
// which that hook can be connected.
func Connection[T any](dialect string, want Spot, spot func(*T) Spot, tables ...[]T) (*T, error) {
	var points []string
	for _, table := range tables {
		for i := range table {
			have := spot(&table[i])
			if have == want {
				return &table[i], nil
			}
			if have.Hook == want.Hook {
				points = append(points, string(have.Point))
			}
		}
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("there is no %s hook %q", dialect, want.Hook)
	}
	return nil, NotCallable(dialect, want, points)
}
