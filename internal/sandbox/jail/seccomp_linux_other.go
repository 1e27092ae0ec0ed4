//go:build linux && !amd64

package jail

var refusedHere = []uint32{}
