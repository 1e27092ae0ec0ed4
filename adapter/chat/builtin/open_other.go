//go:build !unix

package builtin

// openNonblock is 0: named pipes are not in the file system here.
const openNonblock = 0
