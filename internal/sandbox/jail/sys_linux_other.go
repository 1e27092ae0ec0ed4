//go:build linux && !amd64

package jail

// sysSeccomp is the number on arm64. For other machines no filter has been written.
const sysSeccomp = 277
