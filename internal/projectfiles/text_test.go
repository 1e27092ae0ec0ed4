package projectfiles

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestPlain(t *testing.T) {
	if got := plain("a\x1b[31mb\r\n\tc\u202e\U000E0041d\xff\u200d"); got != "a[31mb\n\tcd\uFFFD\u200d" {
		t.Errorf("%q", got)
	}
}

func TestHeader(t *testing.T) {
	for text, want := range map[string][2]string{
		"# Review\n\nLook.":                           {"Review", "# Review\n\nLook."},
		"---\ndescription: 'Send it'\nx: 1\n---\nGo.": {"Send it", "Go."},
		"---\nx: 1\n---\nGo now.\nAnd here.":          {"Go now.", "Go now.\nAnd here."},
		"--- not a header":                            {"--- not a header", "--- not a header"},
		"":                                            {"", ""},
	} {
		if about, rest := header(text); about != want[0] || rest != want[1] {
			t.Errorf("%q: %q, %q", text, about, rest)
		}
	}
}

func TestExpand(t *testing.T) {
	prompts := []Prompt{{Name: "a", Text: "x $ARGUMENTS y $ARGUMENTS"}, {Name: "b", Text: "b"}}
	for line, want := range map[string]string{"/a 1  2 ": "x 1  2 y 1  2", "/a": "x  y ", "/b": "b", "/b now": "b\n\nnow", "/c": "", "a": "", "/a/b": ""} {
		if got, ok := Expand(prompts, line); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", line, got, ok)
		}
	}
}

// FuzzText: whatever a file contains, its text is at most three times as long, is valid UTF-8 and
// has no control characters.
func FuzzText(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte("---\ndescription: x\n---\nbody $ARGUMENTS\n"))
	f.Add([]byte("\xff\xfe\x00\x1b]0;x\x07" + strings.Repeat("é", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		about, rest := header(plain(string(wholeLines(data))))
		for _, s := range []string{about, rest} {
			bad := strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
			if !utf8.ValidString(s) || bad >= 0 || len(s) > 3*len(data) {
				t.Errorf("%q", s)
			}
		}
	})
}
