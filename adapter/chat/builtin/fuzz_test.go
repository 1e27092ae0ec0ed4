package builtin

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzGlob: a pattern that a model wrote is refused, or matches in limited time. A pattern without
// special characters matches itself, and ** matches everything.
func FuzzGlob(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range [][2]string{{"*.go", "a/b.go"}, {"**/x/**", "a/x/b"}, {"**", ""}, {"[", "a"}, {"./a", "a"}, {"a/**/**/b", "a/b"}, {"\\", "\\"}, {"", ""}} {
		f.Add(seed[0], seed[1])
	}
	f.Add(strings.Repeat("**/*a*/", 20)+"b", strings.Repeat("aaaa/", 40))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := newGlob(pattern)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
			return
		}
		got := g.match(name)
		if pattern == name && !strings.ContainsAny(name, `*?[\`) && !strings.HasPrefix(name, "./") && !strings.HasSuffix(name, "/") && name != "" && !got {
			t.Errorf("%q does not match itself", name)
		}
		if pattern == "**" && !got {
			t.Errorf("** does not match %q", name)
		}
	})
}

// FuzzEdit: an edit changes the file exactly where old was, old is gone from those places, and the
// snippet has a limited size.
func FuzzEdit(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("a\nb\nc\n", "b", "x\ny", false)
	f.Add("a\r\nb\r\n", "a\nb", "c\n", false)
	f.Add("aaaa", "aa", "b", true)
	f.Add("a\r\nb\nc", "b\nc", "", false)
	f.Add("x\n\n\nx", "\n", "", true)
	f.Fuzz(func(t *testing.T, content, old, new string, all bool) {
		if old == "" || old == new {
			return
		}
		e, err := planEdit(content, editArgs{Old: old, New: new, All: flag(all)})
		if err != nil {
			return
		}
		if len(e.at) == 0 || len(e.at) > 1 && !all {
			t.Fatalf("%q for %q in %q: at %v", new, old, content, e.at)
		}
		if got, want := e.after(), strings.ReplaceAll(content, e.old, e.new); got != want {
			t.Errorf("%q for %q in %q gives %q, want %q", new, old, content, got, want)
		}
		const lines = (snippetHunks + 1) * (2*snippetLines + 2*snippetContext + 4)
		if s := e.snippet(); strings.Count(s, "\n") > lines || !strings.Contains(s, "@@ -") {
			t.Errorf("%q for %q in %q is shown as %q", new, old, content, s)
		}
	})
}

// FuzzMedia: the server's type or the content decides whether a body is text, and text is always
// UTF-8.
func FuzzMedia(tf *testing.F) {
	f := variants.Of(tf)
	for _, kind := range []string{"", "text/html; charset=iso-8859-1", "text/plain; charset=utf-16", "application/octet-stream", "text/html; charset=\"", "image/png", "a/b+json", ";;", "text/plain; charset=replacement"} {
		f.Add(kind, []byte("<meta charset=shift_jis>\x83\x65"))
		f.Add(kind, []byte("{\"a\":1}\x00"))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		m := mediaOf(kind, body)
		if !m.text {
			return
		}
		if text := m.decode(body); !utf8.ValidString(text) || len(text) > 4*len(body)+16 {
			t.Errorf("%q as %q is %q", body, kind, text)
		}
	})
}
