package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestASchedulerThatEndsEarlyIsAnError: the error says how many runs were made, and why no more.
func TestASchedulerThatEndsEarlyIsAnError(t *testing.T) {
	rig, err := openJobRig(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tick, want := range map[int]string{1: "", 2: "the scheduler ended after 0 of 4 runs"} {
		err := rig.run(ctx, rig.agent(), tick, func(int) {}, tick*rig.total)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), want) {
			t.Errorf("tick %d: error is %v", tick, err)
		}
	}
	if err := rig.close(); err != nil {
		t.Error(err)
	}
}
