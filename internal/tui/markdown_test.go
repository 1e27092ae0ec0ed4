package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/dlclark/regexp2"

	"github.com/patchbay-dev/patchbay/internal/render"
)

func TestMarkdown(t *testing.T) {
	defer regexp2.StopTimeoutClock() // a goroutine of the code highlighter's
	color, plain := look{color: true, width: 80, height: 30}, look{width: 80, height: 30}
	t.Run("with colours the marks go", func(t *testing.T) {
		got := strings.Join(color.markdown("some **bold** text", 60), "\n")
		if ansi.Strip(got) != "some bold text" || !strings.Contains(got, "\x1b[1m") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("without colours they stay, and no sequence is there", func(t *testing.T) {
		got := strings.Join(plain.markdown("some **bold** `code`\n\n```go\nx := 1\n```", 60), "\n")
		if !strings.Contains(got, "**bold**") || strings.Contains(got, "\x1b") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("no line is wider than it may be", func(t *testing.T) {
		for _, text := range []string{document, strings.Repeat("x", 500), "```\n" + strings.Repeat("y ", 300) + "\n```"} {
			for _, line := range color.markdown(text, 38) {
				if w := ansi.StringWidth(line); w > 38 {
					t.Errorf("%d columns: %q", w, line)
				}
			}
		}
	})
	t.Run("a link cannot hide its address", func(t *testing.T) {
		got := strings.Join(color.markdown("[bank.example](https://evil.example/)", 60), "\n")
		if !strings.Contains(ansi.Strip(got), "https://evil.example/") || strings.Contains(got, "\x1b]") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("what is too long to be parsed is shown as it is", func(t *testing.T) {
		got := color.markdown(strings.Repeat("**a** ", maxMarkdown/6+1), 60)
		if !strings.Contains(got[0], "**a**") {
			t.Errorf("got %q", got[0])
		}
	})
	t.Run("source may have fences in it", func(t *testing.T) {
		got := strings.Join(plain.source("python", "x = '''\n```\n'''\n", 60), "\n")
		if got != "x = '''\n```\n'''" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("nothing is nothing", func(t *testing.T) {
		if got := color.markdown("\n\n", 60); len(got) != 0 {
			t.Errorf("got %q", got)
		}
	})
}

func TestKeepStyles(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1mbold\x1b[0m\n\x1b[38;5;8mgrey":  "\x1b[1mbold\x1b[0m\n\x1b[38;5;8mgrey",
		"\x1b[8mhidden":                         `\x1b[8mhidden`,
		"\x1b[1;08mhidden":                      `\x1b[1;08mhidden`,
		"\x1b[2J":                               `\x1b[2J`,
		"\x1b[?1049h":                           `\x1b[?1049h`,
		"\x1b]8;;https://a\x07text\x1b]8;;\x07": "text",
		"\x1b]0;title\x07":                      `\x1b]0;title\x07`,
		"a\rb\x07\x9b31m":                       `a\rb\x07\x9b31m`,
		"cut \x1b[3":                            `cut \x1b[3`,
	} {
		if got := keepStyles(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// FuzzMarkdown: whatever a model says, nothing but text and colours reaches the terminal.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{document, hostile, "&#27;]0;x&#7;", "<a href='\x1b'>", "| a |\n|-|\n| &#x9b;2J |", "~~~\n\x1b[2J"} {
		f.Add(seed)
	}
	f.Cleanup(regexp2.StopTimeoutClock)
	l := look{color: true, width: 40, height: 20}
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range l.markdown(text, 38) {
			if c := control(line); c != "" {
				t.Fatalf("%q: %q in %q", text, c, line)
			}
			if bare := ansi.Strip(line); render.Line(bare) != bare {
				t.Fatalf("%q: unfit: %q", text, line)
			}
			if w := ansi.StringWidth(line); w > 38 {
				t.Fatalf("%q: %d columns: %q", text, w, line)
			}
		}
	})
}

func FuzzHistory(f *testing.F) {
	f.Add("\"a\"\n\"b\\nc\"\n")
	f.Add("null\n1\n{}\n\"\xff\"")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := readEntries(strings.NewReader(text))
		if err != nil {
			t.Skip()
		}
		for _, e := range entries {
			if e == "" {
				t.Fatal("an empty entry")
			}
		}
	})
}
