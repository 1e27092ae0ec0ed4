// Package eventually lets a test wait for something that another process or goroutine does.
//
// It is only for tests. It imports nothing of ours, so that the tests of every package can use it.
package eventually

import (
	"testing"
	"time"
)

// patience limits every wait for something that must happen. It is long because the machine may be
// busy. No test checks how long anything takes.
const patience = time.Minute

// pace is the time between two looks at a condition.
const pace = 5 * time.Millisecond

// True waits until a condition holds. what says what must happen, for the message of a test that
// fails.
func True(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(pace) {
		if time.Now().After(end) {
			t.Fatalf("waited %s: %s", patience, what)
		}
	}
}
