// Package soak says how much of a test is run. `.ci/run` tests each promise once, in its shortest
// form. `make soak` sets PATCHBAY_SOAK, with which tests also run the repetitions: more rounds,
// more inputs, every pair of two lists.
//
// It is only for tests. It imports nothing of ours, so that the tests of every package can use it.
package soak

import "os"

// Variable is set by `make soak`.
const Variable = "PATCHBAY_SOAK"

// Long reports whether tests run their repetitions.
func Long() bool { return os.Getenv(Variable) != "" }

// Times returns how often something is done: few times, or many times in a long run.
func Times(brief, long int) int {
	if Long() {
		return long
	}
	return brief
}

// Pair reports whether entry i of a list is tried with entry j of another, which has n entries. A
// long run tries every pair. A short run tries each i with one j in turn, so that every entry of
// both lists is tried if the first list is the longer one.
func Pair(i, j, n int) bool { return Long() || j == i%n }
