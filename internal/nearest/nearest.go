// Package nearest finds the word that a person meant.
//
// It does not know where the words come from, and imports nothing of the module.
package nearest

import (
	"fmt"
	"slices"
	"strings"
)

// longest is the length above which a word is not a typing error of a known one.
const longest = 64

// shortest is the minimum length of a beginning that stands for a whole word.
const shortest = 4

// Word returns the allowed word that a person probably meant by word, or "". It may differ from
// word in at most a third of the letters. If no allowed word is that near, word may also be a part
// of exactly one of them.
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
		return longer(strings.ToLower(word), allowed)
	}
	return best
}

// longer returns the one allowed word that begins with word, or "" if there are several. If none
// does, word may have one typing error, and may be the beginning of a part of the allowed word:
// "timout" leads to timeout_seconds, and "retries" to max_retries.
func longer(word string, allowed []string) string {
	for _, typos := range []int{0, 1} {
		var found []string
		for _, candidate := range allowed {
			if beginsPart(word, strings.ToLower(candidate), typos) {
				found = append(found, candidate)
			}
		}
		if len(found) > 0 {
			return only(found)
		}
	}
	return ""
}

// beginsPart reports whether word, with at most typos typing errors, begins a part of candidate.
// Parts follow an underscore, a hyphen or a dot. Without typing errors only the beginning of
// candidate counts.
func beginsPart(word, candidate string, typos int) bool {
	if typos == 0 {
		return strings.HasPrefix(candidate, word)
	}
	for rest := candidate; ; {
		if prefixDistance(word, rest) <= typos {
			return true
		}
		i := strings.IndexAny(rest, "_-.")
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
}

func only(words []string) string {
	if len(words) != 1 {
		return ""
	}
	return words[0]
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
func distance(a, b string) int { return distances(a, b)[len(b)] }

// prefixDistance returns the distance from a to the beginning of b that is nearest to it.
func prefixDistance(a, b string) int { return slices.Min(distances(a, b)) }

// distances returns the distance from a to each beginning of b, the empty one included.
func distances(a, b string) []int {
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
	return last
}
