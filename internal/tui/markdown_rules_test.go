package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestMarkdownRules draws in 30 columns without colours.
func TestMarkdownRules(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"a paragraph is wrapped at spaces": {
			"one two three four five six seven eight", "one two three four five six\nseven eight"},
		"lines that end early are kept":        {"Jane Doe\n1 Long Street\nSome Town", "Jane Doe\n1 Long Street\nSome Town"},
		"short lines of an item are kept":      {"- roses\n  violets\n- sugar", "• roses\n  violets\n• sugar"},
		"all lines of a verse are kept":        {"short\n" + strings.Repeat("verse ", 11) + "\nend", "short\n" + "verse verse verse verse verse\nverse verse verse verse verse\nverse\nend"},
		"lines of wrapped prose are joined":    {strings.Repeat("prose ", 11) + "\nend", strings.TrimSpace(strings.Repeat("prose prose prose prose prose\n", 2)) + "\nprose end"},
		"two spaces at the end break a line":   {"one  \ntwo", "one\ntwo"},
		"a backslash at the end breaks a line": {"one\\\ntwo", "one\ntwo"},
		"a tag breaks a line":                  {"one<br/>two", "one\ntwo"},
		"marks in a word do not break it":      {"one two three four five si**xse**ven", "one two three four five\nsi**xse**ven"},
		"a heading keeps its level":            {"### a *b*\ntext", "### a *b*\n\ntext"},
		"a heading may be underlined":          {"a\n===", "# a"},
		"an escape is not shown":               {`\*a\* \\`, `*a* \`},
		"a reference is resolved":              {"&lt;&#65;&amp;&hearts;&semi;", "<A&♥;"},
		"a reference is resolved once":         {`\&lt; &amp;lt; &#92;*a`, `&lt; &lt; \*a`},
		"an invalid reference stays":           {"&nope; &ltx; &copy &;&#x;", "&nope; &ltx; &copy &;&#x;"},
		"code is as it was written":            {"`&lt; \\* <b>  c`", "`&lt; \\* <b>  c`"},
		"a link has its address":               {"[a](https://b.example).", "a (https://b.example)."},
		"a link whose text is the address":     {"[https://b.example](https://b.example)", "https://b.example"},
		"a link whose text is a mail address":  {"<a@b.example> [a@b.example](mailto:a@b.example)", "a@b.example a@b.example"},
		"a link without text is its address":   {"[](https://b.example)", "https://b.example"},
		"a link may be defined elsewhere":      {"[a][1]\n\n[1]: https://b.example", "a (https://b.example)"},
		"a bare address keeps its underscores": {"https://b.example/_a_/_b_", "https://b.example/_a_/_b_"},
		"an image is its text":                 {"![a *plug*](b.png)", "a plug"},
		"an image without text is its address": {"![](b.png)", "b.png"},
		"a tag is shown":                       {"a <b>c</b> <d>", "a <b>c</b> <d>"},
		"a comment is shown":                   {"<!-- a\nb -->\n\nc", "<!-- a\nb -->\n\nc"},
		"a list is as loose as it was written": {"- a\n- b\n\ntext\n\n* c\n\n* d", "• a\n• b\n\ntext\n\n• c\n\n• d"},
		"the text of an item hangs":            {"- one two three four five six seven", "• one two three four five six\n  seven"},
		"numbers are aligned":                  {"9) a\n10) b", " 9) a\n10) b"},
		"lists nest":                           {"- a\n  1. b\n     - c\n- d", "• a\n  1. b\n     • c\n• d"},
		"an empty item has a line":             {"- a\n-\n- b", "• a\n•\n• b"},
		"a task has a box":                     {"- [x] a\n- [ ] b\n  c\n1. [X] d", "[x] a\n[ ] b\n    c\n\n1. [x] d"},
		"an item may begin with code":          {"- ```\n  a\n  ```", "•     a"},
		"a quote has a bar":                    {"> a\n>\n> b\n> > c", "│ a\n│\n│ b\n│\n│ │ c"},
		"a list in a quote":                    {"> - a\n> - b", "│ • a\n│ • b"},
		"code is indented":                     {"a\n```\nb\n\n  c\n```\nd", "a\n\n    b\n\n      c\n\nd"},
		"indented code stays indented":         {"a\n\n    b\n      c", "a\n\n    b\n      c"},
		"a fence may still be open":            {"a\n```go\nb", "a\n\n    b"},
		"long code is broken at spaces":        {"```\n  one two three four five six seven\n```", "      one two three four five\n    six seven"},
		"long code without spaces is broken":   {"```\n" + strings.Repeat("x", 30) + "\n```", "    " + strings.Repeat("x", 26) + "\n    xxxx"},
		"indentation gives way to a word":      {"```\n" + strings.Repeat(" ", 20) + "abcdefghij\n```", strings.Repeat(" ", 20) + "abcdefghij"},
		"a rule is a line":                     {"a\n\n---\n\nb", "a\n\n────────\n\nb"},
		"wide characters break anywhere":       {strings.Repeat("漢", 20), strings.Repeat("漢", 15) + "\n" + strings.Repeat("漢", 5)},
		"no line breaks before a closing mark": {strings.Repeat("漢", 15) + "。字", strings.Repeat("漢", 14) + "\n漢。字"},
		"no line breaks after an opening mark": {strings.Repeat("漢", 14) + "「字」", strings.Repeat("漢", 14) + "\n「字」"},
		"characters that join stay together":   {strings.Repeat("e\u0301", 30) + "👩‍💻", strings.Repeat("e\u0301", 30) + "\n👩‍💻"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawn(plain, tt.in, 30); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestMarkdownTables draws in 30 columns without colours.
func TestMarkdownTables(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"a table is as wide as its cells": {`
| name | value |
|---|---|
| a | 1 |
| bcdef | 23 |`, `
name  │ value
──────┼──────
a     │ 1
bcdef │ 23`},
		"columns have their alignment": {`
|left|right|center|
|:--|--:|:-:|
|a|b|c|`, `
left │ right │ center
─────┼───────┼───────
a    │     b │   c`},
		"the widest column gives way": {`
|key|what it is|
|-|-|
|a|some words that do not fit|
|b|c|`, `
key │ what it is
────┼─────────────────────────
a   │ some words that do not
    │ fit
────┼─────────────────────────
b   │ c`},
		"if columns have no room, rows are lists": {`
|one|two|three|four|five|
|-|-|-|-|-|
|aaaaaaaa|bbbbbbbb|cccccccc||eeeeeeee|
|a|b|c|d|e|`, `
one: aaaaaaaa
two: bbbbbbbb
three: cccccccc
five: eeeeeeee

one: a
two: b
three: c
four: d
five: e`},
		"a bar may be in a cell": {`
|a|b|
|-|-|
|c \| d|` + "`e \\| f`|", `
a     │ b
──────┼────────
c | d │ ` + "`e | f`"},
		"a line end may be in a cell": {`
|a|b|
|-|-|
|c<br>d|e|`, `
a │ b
──┼──
c │ e
d │`},
		"a table may have only a head": {`
|a|b|
|-|-|`, `
a │ b
──┼──`},
		"wide characters count as two": {`
|a|b|
|-|-|
|漢字|c|
|d|👩‍💻|`, `
a    │ b
─────┼───
漢字 │ c
d    │ 👩‍💻`},
		"in a list": {`
- a

  |b|
  |-|
  |c|`, `
• a

  b
  ─
  c`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := "\n" + drawn(plain, tt.in, 30); got != tt.want {
				t.Errorf("got%s\nwant%s", got, tt.want)
			}
		})
	}
}

// TestMarkdownIsBounded draws texts for which the parser alone takes minutes, or all memory.
// Without our limits the test would not end in time.
func TestMarkdownIsBounded(t *testing.T) {
	t.Run("a text too long to be parsed is shown as it is", func(t *testing.T) {
		got := colored.markdown(strings.Repeat("**a** ", maxMarkdown/6+1), 60)
		if !strings.Contains(got[0], "**a**") {
			t.Errorf("got %q", got[0])
		}
	})
	t.Run("after very many marks in a paragraph, marks are text", func(t *testing.T) {
		got := ansi.Strip(drawn(colored, strings.Repeat("*a* ", maxTries), 60))
		if !strings.HasPrefix(got, "a a ") || !strings.HasSuffix(got, " *a* *a*") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("marks of the next paragraph are marks again", func(t *testing.T) {
		got := ansi.Strip(drawn(colored, strings.Repeat("*a* ", maxTries)+"\n\n*b*", 60))
		if !strings.HasSuffix(got, "\n\nb") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a huge table is a paragraph", func(t *testing.T) {
		got := drawn(plain, strings.Repeat("|a", 8000)+"\n"+strings.Repeat("|-", 8000)+"\n"+strings.Repeat("b\n", 30_000), 60)
		if !strings.HasPrefix(got, "|a|a") || !strings.HasSuffix(got, "b\nb\nb") {
			t.Errorf("got %q", got[:100])
		}
	})
	t.Run("lists and quotes below a certain depth are text", func(t *testing.T) {
		for mark, want := range map[string]string{"> ": "> > > text", "- ": "- - - text"} {
			if got := drawn(plain, strings.Repeat(mark, maxDepth+3)+"text", 60); !strings.HasSuffix(got, want) {
				t.Errorf("got %q", got)
			}
		}
	})
	t.Run("a list at that depth has all its items", func(t *testing.T) {
		deep := strings.Repeat("  ", maxDepth-1)
		got := drawn(plain, strings.Repeat("- ", maxDepth)+"a\n"+deep+"- b\n"+deep+"- c", 60)
		if want := deep + "• b\n" + deep + "• c"; !strings.HasSuffix(got, want) {
			t.Errorf("got %q", got)
		}
	})
	for _, part := range []string{"a*_", "[a](", "*a**b***c", ">", "1. ", "_a__", "![", "`a``b", "<a ", "&#", "| `\\|` |\n|-|\n"} {
		t.Run("many of "+part, func(t *testing.T) {
			if got := colored.markdown(strings.Repeat(part, maxMarkdown/len(part)), 60); len(got) == 0 {
				t.Error("nothing is shown")
			}
		})
	}
}
