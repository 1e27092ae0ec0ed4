package attach

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mentions returns the words of a text that begin with @, without the @. An @ inside a word, as in
// a mail address, is not a mention.
func Mentions(text string) []string {
	var out []string
	for i, r := range text {
		if r != '@' || !canBeginWord(text[:i]) {
			continue
		}
		if word := mention(text[i+1:]); word != "" && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// canBeginWord reports whether a word can begin after a text.
func canBeginWord(before string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	return size == 0 || unicode.IsSpace(r) || strings.ContainsRune("([{\"'`", r)
}

// mention returns the word at the beginning of a text, or the text in its quotes.
func mention(text string) string {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		line, _, _ := strings.Cut(quoted, "\n") // a missing closing quote is assumed at the end of the line
		name, _, _ := strings.Cut(line, `"`)
		return strings.TrimSpace(name)
	}
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end]
	}
	return text
}

// readings returns the paths that a mention could mean: the word itself, and then the word without
// the punctuation at its end.
func readings(word string) []string {
	out := []string{word}
	for {
		r, size := utf8.DecodeLastRuneInString(word)
		if size == 0 || !strings.ContainsRune(".,;:!?)]}\"'`", r) {
			return out
		}
		if word = word[:len(word)-size]; word != "" {
			out = append(out, word)
		}
	}
}

// Typing returns the mention at the end of a text that is being typed. start is the position of its
// @.
func Typing(text string) (word string, start int, ok bool) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 || !canBeginWord(text[:at]) {
		return "", 0, false
	}
	word = strings.TrimPrefix(text[at+1:], `"`)
	if strings.ContainsFunc(text[at+1:], func(r rune) bool { return unicode.IsSpace(r) && word == text[at+1:] || r == '\n' }) || strings.Contains(word, `"`) {
		return "", 0, false
	}
	return word, at, true
}

// Mention returns the text that mentions a path.
func Mention(path string) string {
	if strings.ContainsFunc(path, unicode.IsSpace) {
		return `@"` + path + `"`
	}
	return "@" + path
}
