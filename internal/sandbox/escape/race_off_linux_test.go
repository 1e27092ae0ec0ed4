//go:build !race

package escape

// raced tells whether the race detector runs, which makes each start of this executable many times
// slower.
const raced = false
