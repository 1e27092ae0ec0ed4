//go:build linux && !race

package faults

import "time"

const (
	// atOnce is how many cells are played concurrently. Most of them wait most of the time.
	atOnce = 16
	// brief is the time limit of a call that should exceed it. The plugin must be able to answer
	// within it afterwards, when it behaves: that takes a few hundredths of a second, and longer on
	// a busy machine.
	brief = time.Second
)
