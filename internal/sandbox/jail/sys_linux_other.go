//go:build linux && !amd64

package jail

// The numbers on arm64. There is no filter for other machines. If the second number is not that of
// statx on them, no jail is built ahead.
const (
	sysSeccomp = 277
	sysStatx   = 291
)
