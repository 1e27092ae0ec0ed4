//go:build linux && race

package faults

import "time"

// Under the race detector the plugins, which are this binary too, take many times as long to start.
// See pace_test.go.
const (
	atOnce = 8
	brief  = 3 * time.Second
)
