//go:build !unix

package plainfile

// nonblock is 0: on this system no file of a directory is a named pipe.
const nonblock = 0
