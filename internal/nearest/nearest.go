// Package nearest finds the word that a person meant.
//
// It does not know where the words come from, and imports nothing of the module.
package nearest

import (
	"fmt"
	"strings"
)

// longest is the length above which a word is not a typing error of a known one.
const longest = 64

// shortest is the minimum length of a beginning that stands for a whole word.
const shortest = 4

// Word returns the allowed word that differs from word by typing errors in at most a third of its
// length, or else the one allowed word that begins with word, or "".
func Word(word string, allowed []string) string {
	if len(word) > longest {
		return ""
	}
	best, bound := "", max(1, len(word)/3)+1
	for _, candidate := range allowed {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < bound {
			best, bound = candidate, d
		}
	}
	if best == "" && len(word) >= shortest {
		return beginning(strings.ToLower(word), allowed)
	}
	return best
}

// beginning returns the one allowed word that begins with word, or "" if there are several.
func beginning(word string, allowed []string) string {
	found := ""
	for _, candidate := range allowed {
		switch {
		case !strings.HasPrefix(strings.ToLower(candidate), word):
		case found != "":
			return ""
		default:
			found = candidate
		}
	}
	return found
}

// Suggest returns a hint for a person who wrote word: the nearest allowed word, or all of them if
// they are few, or "".
func Suggest(word string, allowed []string) string {
	if near := Word(word, allowed); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	const few = 12
	if len(allowed) == 0 || len(allowed) > few {
		return ""
	}
	return "known here: " + strings.Join(allowed, ", ")
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into
// b (optimal string alignment, bytewise: names are ASCII).
func distance(a, b string) int {
	var before []int // the row before last, for swaps
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
