package kaged

import (
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// A checker fills in one manifest. Problems are recorded in the document while it is read.
type checker struct{ m *Manifest }

// argument reads a string for the operating system, in which a string ends at a NUL.
func argument(e document.Value) (string, bool) {
	s, ok := e.Text()
	if ok && strings.ContainsRune(s, 0) {
		e.Bad("", "must not contain a NUL character")
		return "", false
	}
	return s, ok
}

// texts reads a list of strings, each with read.
func texts(e document.Value, read func(document.Value) (string, bool)) []string {
	return document.Each(e, "a list of strings", read)
}

// distinct reports whether no earlier entry has this word, and complains if one has.
func distinct(seen map[string]string, e document.Value, word string) bool {
	if first, twice := seen[word]; twice {
		e.Bad("", "repeats %s", first)
		return false
	}
	seen[word] = e.Path()
	return true
}
