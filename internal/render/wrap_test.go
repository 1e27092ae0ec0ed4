package render

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text   string
		width  int
		indent string
		want   string
	}{
		{"one two three", 0, "", "one two three"},
		{"one two three", 13, "", "one two three"},
		{"one two three", 12, "", "one two\nthree"},
		{"one two three", 9, "  ", "one two\n  three"},
		{"  one two three", 9, "", "  one two\n  three"},
		{"say --dry-run or a-b", 10, "", "say\n--dry-run\nor a-b"},
		{"see /a/very/long/path now", 8, "", "see\n/a/very/long/path\nnow"},
		{"one\ntwo three", 5, "", "one\ntwo\nthree"},
		{"\x1b[31merror:\x1b[0m one", 10, "", "\x1b[31merror:\x1b[0m one"},
		{"日本 日本", 5, "", "日本\n日本"},
		{"one two", 4, "      ", "one\ntwo"},
		{"type `a b c`, now", 9, "", "type\n`a b c`,\nnow"},
		{"type `a b c` or `d e`", 7, "", "type\n`a b c`\nor\n`d e`"},
		{"it`s not closed", 7, "", "it`s\nnot\nclosed"},
		{"", 4, "", ""},
	} {
		got := Wrap(tt.text, tt.width, tt.indent)
		if got != tt.want {
			t.Errorf("%q in %d columns is %q, want %q", tt.text, tt.width, got, tt.want)
		}
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(tt.text), " ") {
			t.Errorf("%q has other words than %q", got, tt.text)
		}
	}
}

// TestIDsAreWhole: a column with an id is not cut, however narrow the screen is.
func TestIDsAreWhole(t *testing.T) {
	id := "disk-report/daily/20261116T192950.287Z-manual"
	var b strings.Builder
	if err := Table(&b, [][]Cell{Head("RUN", "ERROR"), {{Text: id, Whole: true}, {Text: strings.Repeat("long ", 20)}}}, Options{Width: 60}); err != nil {
		t.Fatal(err)
	}
	row := strings.Split(b.String(), "\n")[1]
	if !strings.HasPrefix(row, id+"  long") || !strings.HasSuffix(row, "…") {
		t.Errorf("%s", row)
	}
}

// TestCutFits: Cut keeps a text within the width, even if some letters are wider than they look.
func TestCutFits(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 50), strings.Repeat("日", 50), strings.Repeat("b\ufe0f", 50), strings.Repeat("b\ufe0f\u0301", 50), strings.Repeat("🙂\u200d", 50)} {
		for width := 1; width < 60; width++ {
			if got := Cut(text, width); ansi.StringWidth(got) > width {
				t.Errorf("%q in %d columns has %d: %q", text, width, ansi.StringWidth(got), got)
			}
		}
	}
}
