//go:build !race

package escape

// raced says whether the race detector runs, which makes each start of this executable many times
// slower.
const raced = false
