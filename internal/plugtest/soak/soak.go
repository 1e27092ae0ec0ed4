// Package soak says how much of a test is run. `.ci/run` makes each promise good once, in its
// shortest form; `make soak` sets PATCHBAY_SOAK, with which tests also make the repetitions: more
// rounds, more inputs, every pair of two lists.
//
// It is for tests alone, and imports nothing of ours, so that the tests of every package can use
// it.
package soak

import "os"

// Variable is set by `make soak`.
const Variable = "PATCHBAY_SOAK"

// Long tells whether tests make their repetitions.
func Long() bool { return os.Getenv(Variable) != "" }

// Times is how often something is done: briefly, or at length.
func Times(brief, long int) int {
	if Long() {
		return long
	}
	return brief
}

// Pair tells whether entry i of a list is tried with entry j of another, which has n. At length
// every pair is tried; briefly, each i with one j, in turn, so that where the first list is the
// longer one nothing of either is left out.
func Pair(i, j, n int) bool { return Long() || j == i%n }
