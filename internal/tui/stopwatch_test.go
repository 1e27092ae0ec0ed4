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
