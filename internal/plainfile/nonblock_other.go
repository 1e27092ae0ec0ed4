//go:build !unix

package plainfile

// nonblock is nothing where named pipes are no files of a directory.
const nonblock = 0
