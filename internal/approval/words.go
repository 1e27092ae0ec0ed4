package approval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine bounds a command line that is remembered or compared.
const maxLine = 4 << 10

// Words splits a command line into words, as /bin/sh would. It does so only for one simple command
// whose words mean what they say: a line with a second command, a redirection, an expansion, a
// pattern, an assignment in front, a comment or an escape has no words, and ok is false.
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

// nextWord takes the first word off a line: bare characters and quoted parts in any order.
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
		if !bare(line[0]) || line[0] == '=' && b.Len() == 0 { // zsh takes =ls for the path of ls
			return "", "", false
		}
		b.WriteByte(line[0])
		line = line[1:]
	}
	return b.String(), line, true
}

// bare tells the characters that mean themselves to every shell, anywhere in a word. All others
// have to be quoted.
func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:=@%+,", c) >= 0
}

// literal tells whether a quoted text means itself.
func literal(text string, quote byte) bool {
	if quote == '"' && strings.ContainsAny(text, "$`\\!") {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
