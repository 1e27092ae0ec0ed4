package tui

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// marked writes the highlighted code, with a letter for each face that is not plain.
func marked(language string, lines ...string) string {
	letters := map[face]string{faceComment: "C", faceString: "S", faceNumber: "N", faceKeyword: "K", {color: "36"}: "A"}
	h := newHighlighter(language)
	var out []string
	for _, line := range lines {
		var b strings.Builder
		for _, r := range h.line(line) {
			if letter := letters[r.face]; letter != "" {
				b.WriteString(letter + "(" + r.text + ")")
			} else {
				b.WriteString(r.text)
			}
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "\n")
}

func TestHighlight(t *testing.T) {
	for name, tt := range map[string]struct {
		language string
		lines    []string
		want     string
	}{
		"keywords, numbers, strings, comments": {"go", []string{`for i := 0x1F; ; { f("a // b\"c", 'x') } // done`},
			`K(for) i := N(0x1F); ; { f(S("a // b\"c"), S('x')) } C(// done)`},
		"a keyword inside a word is no keyword": {"go", []string{"forest"}, "forest"},
		"a comment goes over lines":             {"go", []string{"a /* b", "for", "c */ for"}, "a C(/* b)\nC(for)\nC(c */) K(for)"},
		"a raw string goes over lines":          {"go", []string{"x := `a", "b` + 1"}, "x := S(`a)\nS(b`) + N(1)"},
		"an ordinary string ends with its line": {"go", []string{`x := "a`, "for"}, "x := S(\"a)\nK(for)"},
		"three quotes are one mark":             {"python", []string{`"""a "b"`, `c""" + None # d`}, "S(\"\"\"a \"b\")\nS(c\"\"\") + K(None) C(# d)"},
		"in a word # begins no comment":         {"sh", []string{`echo $# a#b 'c\' # d`}, `echo $# a#b S('c\') C(# d)`},
		"keywords in capitals":                  {"sql", []string{"SELECT a FROM b -- c"}, "K(SELECT) a K(FROM) b C(-- c)"},
		"names in YAML":                         {"yaml", []string{`name: "a" # b`, "- on: true"}, "A(name): S(\"a\") C(# b)\n- A(on): K(true)"},
		"names in TOML":                         {"toml", []string{`window = 32000`}, "A(window) = N(32000)"},
		"json":                                  {"json", []string{`{"a": [1, null]}`}, `{S("a"): [N(1), K(null)]}`},
		"other characters stay":                 {"go", []string{"é漢 := \"👩‍💻\""}, "é漢 := S(\"👩‍💻\")"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := marked(tt.language, tt.lines...); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	t.Run("an unknown language has one colour", func(t *testing.T) {
		if newHighlighter("brainfuck") != nil || newHighlighter("") != nil {
			t.Error("there is a highlighter")
		}
	})
}

// FuzzHighlight: no code is lost or changed, in any language.
func FuzzHighlight(tf *testing.F) {
	f := variants.Of(tf)
	for _, essay := range essays {
		f.Add("go", essay)
	}
	f.Add("python", "\"\"\"a\\")
	f.Add("sh", "'\\")
	f.Fuzz(func(t *testing.T, language, code string) {
		h := newHighlighter(language)
		if h == nil {
			t.Skip("no language")
		}
		for line := range strings.SplitSeq(code, "\n") {
			var b strings.Builder
			for _, r := range h.line(line) {
				b.WriteString(r.text)
			}
			if b.String() != line {
				t.Errorf("%q became %q", line, b.String())
			}
		}
	})
}
