//go:build linux && !amd64

package sandbox

var (
	refusedHere   []uint32
	modeCallsHere []moded
	openCallsHere []moded
)
