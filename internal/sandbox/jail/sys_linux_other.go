//go:build linux && !amd64

package jail

// These are the numbers on arm64. Other machines have no filter, so they do not use the first one.
// If the second one is not statx there, no jail is built ahead.
const (
	sysSeccomp = 277
	sysStatx   = 291
)
