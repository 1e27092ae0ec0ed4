package job

import (
	"strings"
	"testing"
)

// TestOutputThatIsNotStored: what is counted is what the program printed, not its stored form.
func TestOutputThatIsNotStored(t *testing.T) {
	b := outputBatch{most: 1000}
	stored, printed := 0, 0
	for range 100 {
		l := Line{Stream: stdout, Text: strings.Repeat("x", 9)}
		b.add(l)
		if len(b.take()) > 0 {
			stored += len(l.Text) + 1
		}
		printed += len(l.Text) + 1
	}
	if stored == 0 || b.lost != printed-stored {
		t.Errorf("printed %d bytes, stored %d, and counted %d as not stored", printed, stored, b.lost)
	}
}
