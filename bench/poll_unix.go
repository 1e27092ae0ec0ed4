//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable returns a child's stdin in non-blocking mode. A goroutine that blocks in a read keeps
// its processor until the runtime's monitor takes it away, 20 µs or more later. On one core that
// would slow every call of a peer whose reader passes requests to another goroutine. A good plugin
// avoids this, so the benchmark does too.
func pollable(stdin *os.File) *os.File {
	if unix.SetNonblock(int(stdin.Fd()), true) != nil {
		return stdin
	}
	return os.NewFile(stdin.Fd(), stdin.Name())
}
