//go:build unix

package plainfile

import "syscall"

// nonblock opens a named pipe without waiting for its writer, and never makes a terminal the
// controlling terminal of the process.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY
