//go:build !linux

package main

import (
	"os"
	"runtime"
)

// pinned starts the process as it is: this system offers no way to pin one. GOMAXPROCS, which the
// caller sets, still bounds each process by itself.
func pinned(n int, start func() error) (note string, err error) {
	return "not pinned: " + runtime.GOOS + " cannot; one-core figures are those of GOMAXPROCS alone", start()
}

// widen does nothing: pipes have the size this system gives them.
func widen(*os.File) {}
