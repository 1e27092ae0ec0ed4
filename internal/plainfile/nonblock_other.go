//go:build !unix

package plainfile

// nonblock is 0: on this system, directories contain no named pipes.
const nonblock = 0
