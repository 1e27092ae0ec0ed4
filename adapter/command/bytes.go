package command

import (
	"slices"
	"unicode/utf8"
)

// This file restores words that plugins did not change and that are not UTF-8, such as the names of
// old files. JSON has only UTF-8, so plugins see U+FFFD in the place of each other byte. A program
// that got such a word would work on another file than the one that was typed.

// shown returns a text as plugins see it.
func shown(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// restored returns sent if plugins left it as they saw it. Otherwise it returns left.
func restored(sent, left string) string {
	if shown(sent) == left {
		return sent
	}
	return left
}

// restoredArgs does the same for arguments, which plugins may also move, add and remove. Then two
// arguments that look the same to plugins are not restored: it is not known which one is left.
func restoredArgs(sent, left []string) []string {
	if slices.EqualFunc(sent, left, func(s, l string) bool { return shown(s) == l }) {
		return sent
	}
	was := make(map[string]string) // by the text that plugins see: the argument, or that text again if two arguments look the same
	for _, arg := range sent {
		seen := shown(arg)
		if other, found := was[seen]; found && other != arg {
			arg = seen
		}
		was[seen] = arg
	}
	restored := make([]string, len(left))
	for i, arg := range left {
		restored[i] = arg
		if original, found := was[arg]; found {
			restored[i] = original
		}
	}
	return restored
}
