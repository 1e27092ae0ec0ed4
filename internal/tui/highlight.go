package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A highlighter gives faces to the words of source code: comments, strings, numbers, keywords. It
// reads a line at a time and knows only how these look in a language; other text stays plain. It is
// not a parser: if it is wrong, the text is still there (docs/decisions/0023-highlighting.md).
type highlighter struct {
	language language
	open     *span // a comment or string that continues in the next line
}

// A span is text between two marks.
type span struct {
	begin, end string
	face       face
	lines      bool // it may span several lines
	escapes    bool // a backslash before the mark keeps the span open
}

// The faces of source code. Magenta is one of the sixteen colours of the terminal's own theme.
var (
	faceComment = face{dim: true}
	faceString  = face{color: render.StyleGreen}
	faceNumber  = face{color: render.StyleYellow}
	faceKeyword = face{color: "35"}
)

// newHighlighter returns the highlighter for the language that a fence names; nil if it is unknown.
func newHighlighter(name string) *highlighter {
	l, ok := languageOf(strings.ToLower(name))
	if !ok {
		return nil
	}
	return &highlighter{language: l}
}

// line returns one line as runs.
func (h *highlighter) line(text string) []run {
	var out []run
	add := func(n int, f face) {
		if n > 0 {
			out = join(out, run{text[:n], f})
			text = text[n:]
		}
	}
	if h.open != nil {
		add(h.until(h.open, text))
	}
	before := ' ' // the character before the next
	for text != "" {
		n, f := h.next(before, text)
		before, _ = utf8.DecodeLastRuneInString(text[:n])
		add(n, f)
	}
	return out
}

// next returns the length of the next piece and its face.
func (h *highlighter) next(before rune, text string) (int, face) {
	for i := range h.language.spans {
		s := &h.language.spans[i]
		if strings.HasPrefix(text, s.begin) && (s.begin != hash.begin || !isWord(before) && !strings.ContainsRune("$&{/", before)) {
			n, f := h.until(s, text[len(s.begin):])
			return len(s.begin) + n, f
		}
	}
	if n := wordLength(text); n > 0 {
		return n, h.word(text[:n], text[n:])
	}
	_, n := utf8.DecodeRuneInString(text)
	return n, face{}
}

// until returns how much of text belongs to an open span. It leaves the span open if the text ends
// first.
func (h *highlighter) until(s *span, text string) (int, face) {
	h.open = nil
	for at := 0; s.end != "" && at < len(text); {
		switch {
		case s.escapes && text[at] == '\\':
			at += 2
		case strings.HasPrefix(text[at:], s.end):
			return at + len(s.end), s.face
		default:
			at++
		}
	}
	if s.lines {
		h.open = s
	}
	return len(text), s.face
}

// word returns the face of a word: a number, a keyword, or the name of a value in data.
func (h *highlighter) word(word, rest string) face {
	switch {
	case word[0] >= '0' && word[0] <= '9':
		return faceNumber
	case h.language.names && strings.HasPrefix(strings.TrimLeft(rest, " "), h.language.assigns):
		return face{color: render.StyleCyan}
	case strings.Contains(h.language.keywords, " "+h.folded(word)+" "):
		return faceKeyword
	}
	return face{}
}

func (h *highlighter) folded(word string) string {
	if h.language.anyCase {
		return strings.ToLower(word)
	}
	return word
}

// wordLength returns how much of text is a word or a number.
func wordLength(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) })
	if n < 0 {
		return len(text)
	}
	return n
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
