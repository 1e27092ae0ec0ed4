package render

import (
	"strings"
	"testing"
)

// TestUnified: hunks have their line numbers, three lines around each change, and no characters
// that a terminal would interpret.
func TestUnified(t *testing.T) {
	numbered := func(change string) string {
		var b strings.Builder
		for _, n := range strings.Split("1 2 3 4 5 6 7 8 9 10 11 12", " ") {
			if n == "2" || n == "12" {
				n += change
			}
			b.WriteString(n + "\n")
		}
		return b.String()
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"the same", "a\n", "a\n", ""},
		{"one line", "a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		{"from nothing", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"to nothing", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"two places", numbered(""), numbered("!"), "@@ -1,5 +1,5 @@\n 1\n-2\n+2!\n 3\n 4\n 5\n@@ -9,4 +9,4 @@\n 9\n 10\n 11\n-12\n+12!\n"},
		{"the end of the last line", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No line end at the end of the file\n+a\n"},
		{"control characters", "", "\x1b[2Jgone\r\n\u202eabc\n", "@@ -0,0 +1,2 @@\n+\\x1b[2Jgone\\r\n+\\u202eabc\n"},
	} {
		if got := Unified(c.old, c.new); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := Unified("", strings.Repeat(" ", 5000)+"evil()\n"); !strings.Contains(got, "evil()") {
		t.Errorf("a long line is cut: %q", got)
	}
}

// TestTextDiffIsHarmless: a diff has no characters that a terminal would interpret.
func TestTextDiffIsHarmless(t *testing.T) {
	var b strings.Builder
	if err := TextDiff(&b, "a\n", "\x1b[2J\n", Options{}); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%v %q", err, b.String())
	}
}
