package render

import (
	"fmt"
	"strings"
	"testing"
)

func TestLineDiff(t *testing.T) {
	tests := map[string]struct{ old, new, want string }{
		"nothing to something":             {"", "a b", "+a +b"},
		"something to nothing":             {"a b", "", "-a -b"},
		"a line in the middle":             {"a b c", "a x c", " a -b +x  c"},
		"common lines are kept":            {"a b c d", "b x d", "-a  b -c +x  d"},
		"far common lines are left out":    {"1 2 3 4 5 6 7", "1 2 3 4 5 6 8", "⋮  5  6 -7 +8"},
		"between two changes as well":      {"a 1 2 3 4 5 b", "A 1 2 3 4 5 B", "-a +A  1  2 ⋮  4  5 -b +B"},
		"repeated lines":                   {"a a a", "a a", " a  a -a"},
		"a change next to the end of both": {"x", "x y", " x +y"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := joined(lineDiff(strings.Fields(tt.old), strings.Fields(tt.new))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLineDiffOfHugeTextsIsNotComputed(t *testing.T) {
	var a, b []string
	for i := range 3000 {
		a, b = append(a, fmt.Sprint("a", i)), append(b, fmt.Sprint("b", i))
	}
	if got := lineDiff(a, b); len(got) != 6000 || got[0].sign != '-' || got[5999].sign != '+' {
		t.Errorf("%d lines, want all old lines removed and all new lines added", len(got))
	}
}

func joined(diff []diffLine) string {
	var out []string
	for _, l := range diff {
		if l.sign == gap {
			out = append(out, "⋮")
			continue
		}
		out = append(out, string(l.sign)+l.text)
	}
	return strings.Join(out, " ")
}

// TestWindowOfANearChange: a line that is not cut at its beginning has no ellipsis there.
func TestWindowOfANearChange(t *testing.T) {
	line := strings.Repeat("x", 100)
	if got := window(line, 12, 20); got != line {
		t.Errorf("got %q", got)
	}
	if got := window(line, 50, 20); got != "…"+line[30:] {
		t.Errorf("got %q", got)
	}
}
