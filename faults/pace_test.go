//go:build linux && !race

package faults

import "time"

const (
	// atOnce is how many cells are played side by side. Most of them wait most of the time.
	atOnce = 16
	// brief is the time of a call that is to use it up. Its plugin must be able to answer within it
	// afterwards, when it behaves: a few hundredths of a second, and more on a busy machine.
	brief = time.Second
)
