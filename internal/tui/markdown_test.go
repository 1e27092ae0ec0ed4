package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	colored = look{color: true, width: 80, height: 30}
	plain   = look{width: 80, height: 30}
)

// drawn returns the drawing of markdown as one text.
func drawn(l look, text string, width int) string { return strings.Join(l.markdown(text, width), "\n") }

func tour(t testing.TB) string {
	text, err := os.ReadFile(filepath.Join("testdata", "markdown", "tour.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMarkdownTour draws a text that has all of markdown in it.
func TestMarkdownTour(t *testing.T) {
	for name, tt := range map[string]struct {
		look  look
		width int
	}{
		"wide": {plain, 78}, "narrow": {plain, 38}, "tiny": {plain, 12}, "colours": {colored, 60},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.ReplaceAll(drawn(tt.look, tour(t), tt.width), "\x1b", "^") + "\n"
			path := filepath.Join("testdata", "markdown", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; run with -update and look at the change\ngot:\n%s\nwant:\n%s", path, got, want)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	t.Run("with colours the marks are left out", func(t *testing.T) {
		got := drawn(colored, "some **bold** text", 60)
		if ansi.Strip(got) != "some bold text" || !strings.Contains(got, "\x1b[1m") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("without colours the marks stay, and there are no sequences", func(t *testing.T) {
		got := drawn(plain, "some **bold** `code`\n\n```go\nx := 1\n```", 60)
		if !strings.Contains(got, "**bold**") || strings.Contains(got, "\x1b") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("faces add up", func(t *testing.T) {
		got := drawn(colored, "*a **b ~~c~~***", 60)
		if want := "\x1b[3ma \x1b[0m\x1b[1;3mb \x1b[0m\x1b[1;3;9mc\x1b[0m"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("every line ends the colours it begins", func(t *testing.T) {
		text := "**" + strings.Repeat("bold ", 50) + "end**\n\n> `" + strings.Repeat("code ", 50) + "`"
		for _, line := range colored.markdown(text, 38) {
			if strings.Contains(line, "\x1b") && !strings.HasSuffix(line, "\x1b[0m") {
				t.Errorf("got %q", line)
			}
		}
	})
	t.Run("a link cannot hide its address", func(t *testing.T) {
		got := drawn(colored, "[bank.example](https://evil.example/)", 60)
		if !strings.Contains(ansi.Strip(got), "https://evil.example/") || strings.Contains(got, "\x1b]") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the lines of a diff have colours", func(t *testing.T) {
		got := drawn(colored, "```diff\n-a\n+b\n c\n```", 60)
		if want := "    \x1b[31m-a\x1b[0m\n    \x1b[32m+b\x1b[0m\n    \x1b[2m c\x1b[0m"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("source may have fences in it", func(t *testing.T) {
		got := strings.Join(plain.source("python", "x = '''\n```\n'''\n", 60), "\n")
		if got != "x = '''\n```\n'''" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("an empty text has no lines", func(t *testing.T) {
		if got := colored.markdown("\n \n", 60); len(got) != 0 {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a text without visible parts is shown as it is", func(t *testing.T) {
		if got := drawn(colored, "[a]: https://a.example", 60); got != "[a]: https://a.example" {
			t.Errorf("got %q", got)
		}
	})
}

func TestMarkdownWidth(t *testing.T) {
	texts := map[string]string{
		"all of markdown":      tour(t),
		"a long word":          strings.Repeat("x", 500),
		"long lines of code":   "```\n" + strings.Repeat("y ", 300) + "\n```",
		"wide characters":      strings.Repeat("漢字👩‍💻", 50),
		"deep lists":           strings.Repeat("- ", 30) + "text",
		"deep quotes":          strings.Repeat("> ", 30) + "text",
		"a long number":        "999999998. text\n999999999. text",
		"a table of many":      strings.Repeat("|a", 50) + "\n" + strings.Repeat("|-", 50) + "\n" + strings.Repeat("|b", 50),
		"a table of long ones": "|a|b|\n|-|-|\n|" + strings.Repeat("x", 99) + "|" + strings.Repeat("y ", 99) + "|",
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			for width := 2; width <= 100; width++ {
				for _, line := range append(colored.markdown(text, width), plain.markdown(text, width)...) {
					if w := ansi.StringWidth(line); w > width {
						t.Fatalf("%d columns of %d: %q", w, width, line)
					}
				}
			}
		})
	}
	t.Run("a narrow screen loses nothing", func(t *testing.T) {
		text, _, _ := strings.Cut(tour(t), "| name") // names of columns are repeated if there are no columns
		bare := func(width int) string {
			return regexp.MustCompile(`[\s│]`).ReplaceAllString(drawn(plain, text, width), "")
		}
		for width := 12; width < 100; width++ {
			if got, want := bare(width), bare(100); got != want {
				t.Fatalf("%d columns: got %s, want %s", width, got, want)
			}
		}
	})
}

// TestMarkdownIsNotObeyed: control characters written as references are shown escaped.
func TestMarkdownIsNotObeyed(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[8mhidden":          `\x1b[8mhidden`,
		"\x1b[31mred":            `\x1b[31mred`,
		"\x1b[2J":                `\x1b[2J`,
		"\x1b[?1049h":            `\x1b[?1049h`,
		"\x1b]8;;https://a\x07b": `\x1b]8;;https://a\x07b`,
		"\x1b]0;title\x07":       `\x1b]0;title\x07`,
		"a\rb\tc\nd":             `a\rb\tc\nd`,
		"a\u202eb\u2028c":        `a\u202eb\u2028c`,
	} {
		var spelled strings.Builder
		for _, r := range in {
			fmt.Fprintf(&spelled, "&#%d;", r)
		}
		for _, frame := range []string{"%s", "# %s", "[%s](a)", "![%s](a)", "[](%s)", "**%s**", "- %s", "|x|\n|-|\n|%s|"} {
			got := drawn(colored, fmt.Sprintf(frame, spelled.String()), 70)
			if !strings.Contains(ansi.Strip(got), want) || control(got) != "" && control(got) != "\n" {
				t.Errorf("%q in %q: got %q", in, frame, got)
			}
		}
	}
}

// TestControl: the check of the other tests can find something.
func TestControl(t *testing.T) {
	for line, want := range map[string]string{
		"\x1b[1mbold\x1b[0m \x1b[38;5;8mgrey": "",
		"a \x1b[8mhidden":                     "\x1b[8m",
		"a \x1b[1;08mhidden":                  "\x1b[1;08m",
		"a \x1b[2J":                           "\x1b[2J",
		"a \x1b]8;;https://a\x07text":         "\x1b]8;;https://a\x07",
		"a\rb":                                "\r",
		"cut \x1b[3":                          "\x1b[3",
	} {
		if got := control(line); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// FuzzMarkdown: only text and colours reach the terminal, and no line is too wide.
func FuzzMarkdown(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{document, hostile, tour(f), "&#27;]0;x&#7;", "<a href='\x1b'>", "| a |\n|-|\n| &#x9b;2J |",
		"~~~\n\x1b[2J", "- [x] *a*\ufe0f", "> \u0301", "|a|\n|-|\n|<br>|"} {
		f.Add(seed, uint8(38), true)
		f.Add(seed, uint8(12), false)
	}
	f.Fuzz(func(t *testing.T, text string, width uint8, color bool) {
		columns := max(int(width), 2)
		for _, line := range (look{color: color, width: columns + 1, height: 20}).markdown(text, columns) {
			if c := control(line); c != "" {
				t.Fatalf("%q: %q in %q", text, c, line)
			}
			if bare := ansi.Strip(line); render.Line(bare) != bare {
				t.Fatalf("%q: unfit: %q", text, line)
			}
			if w := ansi.StringWidth(line); w > columns {
				t.Fatalf("%q: %d columns: %q", text, w, line)
			}
		}
	})
}

func FuzzHistory(tf *testing.F) {
	f := variants.Of(tf)
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
