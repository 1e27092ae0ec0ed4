//go:build !linux

package main

// mainHook is only for tests on Linux.
func mainHook() {}
