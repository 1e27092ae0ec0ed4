//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable is a child's stdin in non-blocking mode. A goroutine that blocks in a read keeps its
// processor until the runtime's monitor takes it away, 20 µs or more later; on one core that would
// be added to every call of a peer whose reader hands its requests to another goroutine. The plugin
// author who knows this avoids it, so the bench does too.
func pollable(stdin *os.File) *os.File {
	if unix.SetNonblock(int(stdin.Fd()), true) != nil {
		return stdin
	}
	return os.NewFile(stdin.Fd(), stdin.Name())
}
