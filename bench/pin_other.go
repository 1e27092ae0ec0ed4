//go:build !linux

package main

import (
	"os"
	"runtime"
)

// pinned starts the process without pinning it, which this system does not support. GOMAXPROCS,
// which the caller sets, still limits each process.
func pinned(n int, start func() error) (note string, err error) {
	return "not pinned: " + runtime.GOOS + " cannot do it; for one-core figures only GOMAXPROCS is set", start()
}

// widen does nothing: pipes have the size this system gives them.
func widen(*os.File) {}
