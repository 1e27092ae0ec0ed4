package builtin

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// maxLink is how long an address is that is still worth showing.
const maxLink = 2000

// pageText is the text of an HTML page: headings, list items and table cells marked, the addresses of
// links in brackets behind them. It goes by the tags as they come, without building a tree, so that
// its work is in proportion to the page however that is nested. more: it stopped when there was
// enough.
func pageText(page string, base *url.URL) (text string, more bool) {
	r := &reducer{tokens: html.NewTokenizer(strings.NewReader(page)), base: base}
	for r.out.Len() <= shownMax {
		switch r.tokens.Next() {
		case html.ErrorToken: // the end: there is no other error of a string
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

// A reducer is a page on its way to text.
type reducer struct {
	tokens *html.Tokenizer
	base   *url.URL
	out    strings.Builder

	breaks int    // line ends due before the next word
	space  bool   // a space is due before the next word
	lead   string // what the next word is to be preceded by: a bullet, a heading's mark

	pre    int    // depth of elements whose line ends count
	hidden string // the element that is being left out, or ""
	depth  int    // how often it is open
	link   string // the address of the link that is open, or ""
	linked int    // how much there was when it was opened
	cells  int    // of the row so far
}

// A block begins on a new line: after one line end, or after an empty line.
var blocks = map[string]int{
	"address": 1, "dd": 1, "div": 1, "dt": 1, "fieldset": 1, "figcaption": 1, "footer": 1, "form": 1, "header": 1, "label": 1,
	"legend": 1, "li": 1, "main": 1, "nav": 1, "option": 1, "summary": 1, "tr": 1, "caption": 1,
	"article": 2, "aside": 2, "blockquote": 2, "details": 2, "dl": 2, "figure": 2, "h1": 2, "h2": 2, "h3": 2, "h4": 2,
	"h5": 2, "h6": 2, "hr": 2, "ol": 2, "p": 2, "pre": 2, "section": 2, "table": 2, "title": 2, "ul": 2,
}

// leads are put before the first word of an element.
var leads = map[string]string{
	"title": "Title: ", "li": "- ", "blockquote": "> ",
	"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### ",
}

// unseen are the elements whose content is not text for a reader.
var unseen = map[string]bool{
	"script": true, "style": true, "noscript": true, "template": true, "svg": true, "iframe": true, "object": true,
	"canvas": true, "noframes": true, "noembed": true,
}

// open is a start tag. alone: it is written <x/>, which in HTML means something in drawings only.
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

// close is an end tag.
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

// block asks for a new line where an element begins or ends that is a block.
func (r *reducer) block(name string) bool {
	n := blocks[name]
	r.breaks = max(r.breaks, n)
	return n > 0
}

// mark adds to what precedes the next word: a heading may be the first thing of a list item. It
// does not grow with elements that are opened and never filled.
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

// refer takes the attributes of an element that refers to something else.
func (r *reducer) refer(name string, more bool) {
	for more {
		var key, value []byte
		key, value, more = r.tokens.TagAttr()
		switch text := strings.TrimSpace(string(value)); {
		case name == "a" && string(key) == "href":
			r.endLink() // links do not nest: this one was forgotten
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

// resolve is a link as it can be fetched; "" where it cannot, or leads to the same page.
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

// endLink shows where the link that is open leads.
func (r *reducer) endLink() {
	switch {
	case r.link == "":
		return
	case r.out.Len() > r.linked:
		r.out.WriteString(" (" + r.link + ")")
	default: // it was a picture: it must not seem to belong to the words before
		r.word("(" + r.link + ")")
	}
	r.link = ""
}

// text adds text: word by word, or as it is where line ends count.
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

// word adds one word, after what is due before it.
func (r *reducer) word(word string) {
	r.start()
	r.out.WriteString(word)
}

// start writes what is due.
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
