package builtin

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

var base = &url.URL{Scheme: "https", Host: "example.org", Path: "/dir/page"}

func TestReduce(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"words are set apart by one space", "<p>a \n\t b&nbsp;c<b>d</b> e", "a b cd e"},
		{"blocks begin on new lines", "<div>a</div><div>b</div><p>c</p><p>d", "a\nb\n\nc\n\nd"},
		{"headings, items and the title are marked", "<title>T</title><h2>H</h2><ul><li>a<li><p>b</p></ul>", "Title: T\n\n## H\n\n- a\n\n- b"},
		{"an element without words leaves no mark", "<h1></h1><ul><li></li></ul>a", "a"},
		{"links are resolved", `<a href="../x?a=1&amp;b=2">x</a>, <a href="//h/y">y</a>.`, "x (https://example.org/x?a=1&b=2), y (https://h/y)."},
		{"links that cannot be fetched are left out", `<a href="#top">up</a> <a href="javascript:f()">f</a> <a>b</a>`, "up f b"},
		{"a link without words stands alone", `<p>a</p><a href="/x"><img src=y></a>`, "a\n\n(https://example.org/x)"},
		{"pictures have their words", `<img src=x alt="a cat">`, "[image: a cat]"},
		{"the page's base counts", `<base href="https://other.net/z/"><a href=q>q</a>`, "q (https://other.net/z/q)"},
		{"scripts, styles and drawings are not text", "a<script>if (a</b) '</p>'</script><style>p{}</style><svg><g><svg></svg>t</g></svg><svg/>b", "ab"},
		{"comments and doctypes are not text", "<!DOCTYPE html><!-- x -->a", "a"},
		{"lines of preformatted text stay", "<p>a<pre>x\n  y\n</pre>b", "a\n\nx\n  y\n\n\nb"},
		{"cells are set apart", "<table><tr><th>a<th>b<tr><td>1</td><td>2</td></table>", "a | b\n1 | 2"},
		{"br begins a new line", "a<br>b<br/>c", "a\nb\nc"},
		{"elements may stay open", "<ul><li><a href=/x>a<p>b", "- a\n\nb"},
		{"entities are characters", "&lt;p&gt; &amp;amp; &euro;", "<p> &amp; €"},
		{"an empty page", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, more := pageText(c.page, base); got != c.want || more {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestReduceIsBounded(t *testing.T) {
	for name, page := range map[string]string{
		"links that grow":           `<base href="https://h/` + strings.Repeat("x", 1900) + `/">` + strings.Repeat("<a href=y>z</a>", 50_000),
		"items without words":       strings.Repeat("<li>", maxBody/4) + "x",
		"nesting":                   strings.Repeat("<div><b>", maxBody/8) + "x",
		"an attribute without end":  `<a href="` + strings.Repeat("x", maxBody),
		"links without number":      strings.Repeat("<a href=/y>", maxBody/11),
		"drawings that never close": strings.Repeat("<svg>", maxBody/5),
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := pageText(page, base); len(got) > shownMax+2*maxLink {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

func FuzzReduce(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		"<p>a<b>c</p>", `<a href="x">y`, "<svg><a></svg>", "<pre>\n\n</pre>", "<title>a", "<script>", "<li><li><h1>", "</a></svg></pre>",
		`<img alt="x"`, `<base href="::">`, "<table><tr><td>", "<!--", "&#0;&#x110000;", "\xff\x00", "<plaintext><p>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, page string) {
		got, _ := pageText(page, base)
		if utf8.ValidString(page) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", page, got)
		}
		if got != strings.TrimSpace(got) {
			t.Errorf("%q has space around it", got)
		}
		if strings.Contains(strings.ToLower(page), "<pre") {
			return
		}
		if strings.Contains(got, "\n\n\n") || strings.Contains(got, "  ") {
			t.Errorf("%q became %q, which has gaps", page, got)
		}
	})
}
