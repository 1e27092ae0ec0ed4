//go:build unix

package plainfile

import "syscall"

// nonblock opens a named pipe without waiting for its writer, and makes no terminal the process's
// own.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY
