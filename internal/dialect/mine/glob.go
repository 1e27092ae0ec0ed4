package mine

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// matches reports whether a hook's pattern matches a command. A * also crosses dots
// (docs/protocols/mine.md, row M27) and slashes, which mean the same as dots in a name.
func matches(pattern, command string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(command))
	return ok && err == nil
}

// warnOfPattern warns of a pattern that is written in the syntax of a shell or a regular
// expression. Here it matches only a command that has these characters in its name.
func warnOfPattern(t *document.Table, pattern string) {
	const fix = `write a [[hooks]] for each command; if the character itself is meant, write a backslash before it, in single quotes: '\{'`
	switch odd := oddIn(pattern); {
	case odd == "[!":
		t.WarnMisspelt("command", "write [^…] for any character but these", "%q matches an exclamation mark and the characters after it", cut(pattern))
	case odd != "" && odd[0] >= utf8.RuneSelf:
		t.WarnMisspelt("command", "type the pattern again", "%+q has a character that cannot be seen, and matches only commands with %+q in their name", cut(pattern), odd)
	case odd == "/":
		t.WarnMisspelt("command", "write the program's name without its folder", "%q matches no program: under `patchbay run` a command is the base name", cut(pattern))
	case odd == " " || odd == "\t":
		t.WarnMisspelt("command", "write dots between the words of one command, as in todo.add; write a [[hooks]] for each command if these are several",
			"%q matches only commands with %q in their name", cut(pattern), odd)
	case odd != "":
		t.WarnMisspelt("command", fix, "%q matches only commands with %q in their name: a pattern has only *, ? and […]", cut(pattern), odd)
	}
}

// oddIn returns the first character of a pattern that is special in a shell or a regular
// expression, but not here. It returns "/" for a path, and "[!" for a class that is negated as in a
// shell. A character that cannot be seen, such as a zero width space, is odd too.
func oddIn(pattern string) string {
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "./") {
		return "/"
	}
	if strings.HasPrefix(pattern, "!") {
		return "!"
	}
	if i := strings.IndexFunc(pattern, func(r rune) bool { return r >= utf8.RuneSelf && !unicode.IsPrint(r) }); i >= 0 {
		_, size := utf8.DecodeRuneInString(pattern[i:])
		return pattern[i : i+size]
	}
	class := false // inside of brackets
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			if !class && strings.HasPrefix(pattern[i:], "[!") {
				return "[!"
			}
			class = true
		case c == ']':
			class = false
		case !class && strings.IndexByte("{}|,()^$ \t", c) >= 0:
			return string(c)
		}
	}
	return ""
}
