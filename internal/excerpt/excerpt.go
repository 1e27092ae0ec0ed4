// Package excerpt shortens text of plugins, files and services, so that it fills neither a screen
// nor a message.
//
// It counts only bytes. Text that is counted in columns, characters or units of a service is
// shortened where it is counted. It imports nothing of the module.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

// Of shortens a text. most limits the number of its bytes. If something is missing, … is added.
func Of[T ~string | ~[]byte](text T, most int) string {
	if len(text) <= most {
		return Head(text, most)
	}
	return Head(text, most) + "…"
}

// Head returns the beginning of a text. most limits the number of its bytes. The result does not
// end with half a character, and is valid UTF-8: bytes that belong to no character become U+FFFD,
// which has three bytes.
func Head[T ~string | ~[]byte](text T, most int) string {
	most = max(most, 0)
	head := string(text[:min(len(text), most)])
	if len(head) < len(text) {
		head = whole(head)
	}
	if head = strings.ToValidUTF8(head, "\uFFFD"); len(head) > most {
		head = whole(head[:most])
	}
	return head
}

// whole removes an incomplete character at the end.
func whole(s string) string {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}
