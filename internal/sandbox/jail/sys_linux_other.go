//go:build linux && !amd64

package jail

// The numbers on arm64. For other machines no filter has been written, and where the second is not
// that of statx nothing is built ahead.
const (
	sysSeccomp = 277
	sysStatx   = 291
)
