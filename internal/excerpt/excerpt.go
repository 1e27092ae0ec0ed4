// Package excerpt shortens foreign text, so that it fills neither a screen nor a message. It counts
// bytes, and imports nothing of the module. What is counted in columns, characters or a service's
// own units is shortened where it is counted.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

// Of is at most that many bytes of a text, with … at the end where something is missing.
func Of[T ~string | ~[]byte](text T, most int) string {
	if len(text) <= most {
		return Head(text, most)
	}
	return Head(text, most) + "…"
}

// Head is the beginning of a text: at most that many bytes, without half a character at its end. It
// is valid UTF-8: bytes that belong to no character become U+FFFD, which has three.
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

// whole leaves out a character at the end of which the rest is missing.
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
