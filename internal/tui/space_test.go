package tui

import (
	"slices"
	"strings"
	"testing"
)

// TestSpace: lines must fit as they are drawn, and after the terminal has become half as wide.
func TestSpace(t *testing.T) {
	l := look{width: 80, height: 24}
	short, wide := slices.Repeat([]string{"short"}, 30), slices.Repeat([]string{strings.Repeat("x", 79)}, 30)
	tests := []struct {
		what  string
		lines []string
		left  space
		want  int
	}{
		{"short lines on two thirds of the screen", short, l.liveSpace(), 16},
		{"wide lines on the whole screen, once they are wrapped", wide, l.liveSpace(), 12},
		{"beside other lines", wide, l.liveSpace().without(wide[:4]...), 8},
		{"on the alternate screen", wide, l.wholeScreen(), 24},
		{"without any space", short, l.liveSpace().without(short...), 0},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			if got := len(tt.left.first(tt.lines)); got != tt.want {
				t.Errorf("first: %d lines, want %d", got, tt.want)
			}
			if got := len(tt.left.last(tt.lines)); got != tt.want {
				t.Errorf("last: %d lines, want %d", got, tt.want)
			}
			if got := tt.left.count(tt.lines); got != max(tt.want, 1) {
				t.Errorf("count: %d lines, want %d", got, max(tt.want, 1))
			}
		})
	}
}

// TestTheCursorIsDrawn: the terminal's own cursor is shown where the user writes, unless many live
// lines are above it.
func TestTheCursorIsDrawn(t *testing.T) {
	drive(t, func(d *driver) {
		own := func(when string, want bool) {
			t.Helper()
			drawn := strings.Contains(strings.Join(d.frame, "\n"), "\x1b[7m")
			if got := d.cursor != nil; got != want || drawn == want {
				t.Errorf("%s: the terminal's own cursor: %t, a drawn one: %t", when, got, drawn)
			}
		}
		own("idle", true)
		d.enter("hang")
		own("during a turn", false)
		d.write("next")
		own("while the user writes", true)
		for range aboveCursor {
			d.keys("ctrl+j")
		}
		own("below many lines", false)
	})
	for _, tt := range []struct {
		line   string
		column int
		want   string
	}{{"abc", 1, "a\x1b[7mb\x1b[mc"}, {"日本語", 2, "日\x1b[7m本\x1b[m語"}, {"ab", 3, "ab \x1b[7m \x1b[m"}} {
		if got := drawCursor(tt.line, tt.column); got != tt.want {
			t.Errorf("%q, column %d: %q, want %q", tt.line, tt.column, got, tt.want)
		}
	}
}
