//go:build !unix

package builtin

// openNonblock is for named pipes, which are not in the file system here.
const openNonblock = 0
