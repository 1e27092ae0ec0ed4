//go:build !linux

package main

// mainHook is for the tests of Linux.
func mainHook() {}
