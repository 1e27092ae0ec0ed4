package excerpt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestExcerpts: a text is cut between two characters, and the result is valid UTF-8.
func TestExcerpts(t *testing.T) {
	for _, c := range []struct {
		text     string
		most     int
		head, of string
	}{
		{"", 4, "", ""},
		{"four", 4, "four", "four"},
		{"fives", 4, "five", "five…"},
		{"fivé!", 4, "fiv", "fiv…"},
		{"日本", 5, "日", "日…"},
		{"日本", 0, "", "…"},
		{"日本", -1, "", "…"},
		{"a\xffb", 9, "a\uFFFDb", "a\uFFFDb"},
		{"a\xff\xff", 2, "a", "a…"},
		{"ab\xe6", 3, "ab", "ab"},
	} {
		if got := Head(c.text, c.most); got != c.head {
			t.Errorf("the head of %q, %d: %q, want %q", c.text, c.most, got, c.head)
		}
		if got := Of([]byte(c.text), c.most); got != c.of {
			t.Errorf("an excerpt of %q, %d: %q, want %q", c.text, c.most, got, c.of)
		}
	}
}

func FuzzHead(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("日本\xff", 4)
	f.Fuzz(func(t *testing.T, text string, most int) {
		got := Head(text, most)
		if !utf8.ValidString(got) || len(got) > max(most, 0) || utf8.ValidString(text) && !strings.HasPrefix(text, got) {
			t.Errorf("%q, %d: %q", text, most, got)
		}
	})
}
