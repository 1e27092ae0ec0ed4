package builtin

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// maxLink is the length of the longest address that is shown.
const maxLink = 2000

// pageText returns the text of an HTML page: headings, list items and table cells marked, and the
// addresses of links in brackets after them. It reads the tags in order without building a tree, so
// that the work is proportional to the size of the page, whatever its nesting. more reports whether
// it stopped before the end because the text was long enough.
func pageText(page string, base *url.URL) (text string, more bool) {
	r := &reducer{tokens: html.NewTokenizer(strings.NewReader(page)), base: base}
	for r.out.Len() <= shownMax {
		switch r.tokens.Next() {
		case html.ErrorToken: // the end: a string gives no other error
			return strings.TrimSpace(r.out.String()), false
		case html.TextToken:
			r.text(string(r.tokens.Text()))
		case html.StartTagToken:
			r.open(false)
		case html.SelfClosingTagToken:
			r.open(true)
		case html.EndTagToken:
			name, _ := r.tokens.TagName()
			r.close(string(name))
		}
	}
	return strings.TrimSpace(r.out.String()), true
}

// A reducer turns a page into text.
type reducer struct {
	tokens *html.Tokenizer
	base   *url.URL
	out    strings.Builder

	breaks int    // line ends to write before the next word
	space  bool   // a space to write before the next word
	lead   string // the text to write before the next word: a bullet, a heading's mark

	pre    int    // depth of elements in which line ends count
	hidden string // the element that is being skipped, or ""
	depth  int    // how often that element is open
	link   string // the address of the open link, or ""
	linked int    // the length of the text when the link was opened
	cells  int    // cells in the row so far
}

// blocks lists the elements that begin on a new line: after one line end, or after an empty line.
var blocks = map[string]int{
	"address": 1, "dd": 1, "div": 1, "dt": 1, "fieldset": 1, "figcaption": 1, "footer": 1, "form": 1, "header": 1, "label": 1,
	"legend": 1, "li": 1, "main": 1, "nav": 1, "option": 1, "summary": 1, "tr": 1, "caption": 1,
	"article": 2, "aside": 2, "blockquote": 2, "details": 2, "dl": 2, "figure": 2, "h1": 2, "h2": 2, "h3": 2, "h4": 2,
	"h5": 2, "h6": 2, "hr": 2, "ol": 2, "p": 2, "pre": 2, "section": 2, "table": 2, "title": 2, "ul": 2,
}

// leads lists what is written before the first word of an element.
var leads = map[string]string{
	"title": "Title: ", "li": "- ", "blockquote": "> ",
	"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### ",
}

// unseen lists the elements whose content is not text for a reader.
var unseen = map[string]bool{
	"script": true, "style": true, "noscript": true, "template": true, "svg": true, "iframe": true, "object": true,
	"canvas": true, "noframes": true, "noembed": true,
}

// open handles a start tag. alone is true for a tag written <x/>, which matters only for hidden
// elements.
func (r *reducer) open(alone bool) {
	raw, attributes := r.tokens.TagName()
	name := string(raw)
	switch {
	case r.hidden != "":
		if name == r.hidden && !alone {
			r.depth++
		}
		return
	case unseen[name]:
		if name != "svg" || !alone {
			r.hidden, r.depth = name, 1
		}
		return
	}
	r.block(name)
	r.mark(leads[name])
	switch name {
	case "br":
		r.newline()
	case "pre":
		r.pre++
	case "tr":
		r.cells = 0
	case "td", "th":
		r.cell()
	case "a", "img", "base":
		r.refer(name, attributes)
	}
}

// close handles an end tag.
func (r *reducer) close(name string) {
	if r.hidden != "" {
		if name == r.hidden {
			r.depth--
		}
		if r.depth == 0 {
			r.hidden = ""
		}
		return
	}
	if r.block(name) {
		r.lead = "" // of an element without words
	}
	switch name {
	case "a":
		r.endLink()
	case "pre":
		r.pre = max(0, r.pre-1)
	}
}

// block requests a new line if an element that begins or ends is a block.
func (r *reducer) block(name string) bool {
	n := blocks[name]
	r.breaks = max(r.breaks, n)
	return n > 0
}

// mark appends to the text before the next word. It does not replace that text, because a heading
// may be the first part of a list item. The text is limited, because a page may open many elements
// without words.
func (r *reducer) mark(lead string) {
	const most = 16
	if len(r.lead) < most {
		r.lead += lead
	}
}

func (r *reducer) newline() {
	if r.pre > 0 {
		r.out.WriteByte('\n')
		return
	}
	r.breaks = max(r.breaks, 1)
}

// cell separates the cells of a row.
func (r *reducer) cell() {
	if r.cells++; r.cells > 1 {
		r.space = true
		r.word("|")
	}
	r.space = true
}

// refer reads the attributes of an element that refers to something else.
func (r *reducer) refer(name string, more bool) {
	for more {
		var key, value []byte
		key, value, more = r.tokens.TagAttr()
		switch text := strings.TrimSpace(string(value)); {
		case name == "a" && string(key) == "href":
			r.endLink() // links do not nest: the last one was not closed
			r.link, r.linked = r.resolve(text), r.out.Len()
		case name == "img" && string(key) == "alt" && text != "":
			r.text("[image: " + text + "]")
		case name == "base" && string(key) == "href":
			if u, err := r.base.Parse(text); err == nil && len(text) <= maxLink {
				r.base = u
			}
		}
	}
}

// resolve returns the absolute address of a link; "" if it cannot be fetched or leads to the same
// page.
func (r *reducer) resolve(href string) string {
	if href == "" || strings.HasPrefix(href, "#") || len(href) > maxLink {
		return ""
	}
	u, err := r.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	if text := u.String(); len(text) <= maxLink {
		return text
	}
	return ""
}

// endLink writes the address of the open link.
func (r *reducer) endLink() {
	switch {
	case r.link == "":
		return
	case r.out.Len() > r.linked:
		r.out.WriteString(" (" + r.link + ")")
	default: // it was a picture: its address must not follow the words before
		r.word("(" + r.link + ")")
	}
	r.link = ""
}

// text adds text: word by word, or unchanged where line ends count.
func (r *reducer) text(text string) {
	if r.hidden != "" {
		return
	}
	if r.pre > 0 {
		r.start()
		r.out.WriteString(text)
		return
	}
	for text != "" {
		rest := strings.TrimLeftFunc(text, unicode.IsSpace)
		r.space = r.space || len(rest) < len(text)
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			r.word(rest[:end])
		}
		text = rest[end:]
	}
}

// word adds one word, after the separators that are due.
func (r *reducer) word(word string) {
	r.start()
	r.out.WriteString(word)
}

// start writes the separators that are due.
func (r *reducer) start() {
	switch {
	case r.out.Len() == 0:
	case r.breaks > 0:
		r.out.WriteString(strings.Repeat("\n", r.breaks))
	case r.space:
		r.out.WriteByte(' ')
	}
	r.out.WriteString(r.lead)
	r.breaks, r.space, r.lead = 0, false, ""
}
