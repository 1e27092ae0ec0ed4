package approval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine limits a command line that is stored or compared.
const maxLine = 4 << 10

// Words splits a command line into words, as /bin/sh would. It accepts only one simple command
// without special characters. For a line with a second command, a redirection, an expansion, a
// pattern, an assignment before the command, a comment or an escape, ok is false.
func Words(line string) (words []string, ok bool) {
	if len(line) > maxLine || !utf8.ValidString(line) {
		return nil, false
	}
	for rest := strings.TrimLeft(line, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		var word string
		if word, rest, ok = nextWord(rest); !ok {
			return nil, false
		}
		words = append(words, word)
	}
	if len(words) == 0 || words[0] == "" || strings.Contains(words[0], "=") {
		return nil, false
	}
	return words, true
}

// nextWord returns the first word of a line, which consists of bare characters and quoted parts in
// any order.
func nextWord(line string) (word, rest string, ok bool) {
	var b strings.Builder
	for line != "" && line[0] != ' ' && line[0] != '\t' {
		if quote := line[0]; quote == '\'' || quote == '"' {
			text, after, closed := strings.Cut(line[1:], string(quote))
			if !closed || !literal(text, quote) {
				return "", "", false
			}
			b.WriteString(text)
			line = after
			continue
		}
		if !bare(line[0]) || line[0] == '=' && b.Len() == 0 { // zsh reads =ls as the path of ls
			return "", "", false
		}
		b.WriteByte(line[0])
		line = line[1:]
	}
	return b.String(), line, true
}

// bare reports whether a character has no special meaning to any shell, anywhere in a word. All
// others must be quoted.
func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:=@%+,", c) >= 0
}

// literal reports whether a quoted text has no special meaning.
func literal(text string, quote byte) bool {
	if quote == '"' && strings.ContainsAny(text, "$`\\!") {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
