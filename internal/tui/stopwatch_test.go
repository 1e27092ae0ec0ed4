package tui

import (
	"testing"
	"time"
)

func TestTheClockStopsDuringAQuestion(t *testing.T) {
	drive(t, func(d *driver) {
		d.enter("ask")
		d.advance(5 * time.Second)
		d.wantLive("edit_file  greeting.txt  0.0s")
		d.keys("y")
		d.wantPrinted("It is done.", "· 0.0s · 1.2k tokens in")
	})
}

// TestTheClocksOfAllQuestionsStop: a call waits for its question while the user is asked another.
func TestTheClocksOfAllQuestionsStop(t *testing.T) {
	drive(t, func(d *driver) {
		d.enter("both")
		d.advance(5 * time.Second)
		d.wantLive("edit_file  0.0s", "write_file  0.0s", "(1 of 2)")
		d.keys("y", "y")
		d.wantPrinted("Both are done.", "· 0.0s · 1.2k tokens in")
	})
}
