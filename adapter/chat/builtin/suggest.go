package builtin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// nearMiss ends the error message for a text that does not occur in the content. It describes the
// part of the content that is most similar to the text, if there is one.
func nearMiss(content, text string) string {
	lines := splitLines(content)
	wanted := splitLines(strings.Trim(text, "\r\n"))
	if at, ok := sameWords(lines, wanted); ok {
		return fmt.Sprintf(", but lines %d to %d differ from it in whitespace only. The file has there: %s",
			at+1, at+len(wanted), quoted(strings.Join(lines[at:at+len(wanted)], "\n")))
	}
	if at := mostSimilar(lines, firstWords(wanted)); at >= 0 {
		return fmt.Sprintf(". The line most like it is line %d: %s. Read the file again and copy old from it",
			at+1, quoted(lines[at]))
	}
	return ": read the file again and copy old from it"
}

// missMax is how many lines are searched for with whitespace ignored.
const missMax = 200

// sameWords finds the place where lines equal wanted except for spaces and tabs.
func sameWords(lines, wanted []string) (at int, ok bool) {
	if len(wanted) == 0 || len(wanted) > min(len(lines), missMax) {
		return 0, false
	}
	plain := make([]string, len(wanted))
	for i, w := range wanted {
		plain[i] = withoutSpace(w)
	}
	have := make([]string, len(lines))
	for i, l := range lines {
		have[i] = withoutSpace(l)
	}
	for at := range len(lines) - len(wanted) + 1 {
		if slices.Equal(have[at:at+len(plain)], plain) {
			return at, true
		}
	}
	return 0, false
}

// withoutSpace returns a line without its whitespace.
func withoutSpace(line string) string { return strings.Join(strings.Fields(line), "") }

// firstWords returns the first line that has more than two bytes without the space around it.
func firstWords(lines []string) string {
	for _, line := range lines {
		if trimmed := strings.TrimSpace(line); len(trimmed) > 2 {
			return trimmed
		}
	}
	return ""
}

// mostSimilar returns the index of the line whose [similarity] to a text is the highest, or -1 if
// no line has one above one half. Similarity counts common pairs of neighbouring bytes: the search
// takes one pass, and a changed word changes only a few pairs.
func mostSimilar(lines []string, text string) int {
	best, most := -1, 0.5
	pairs := pairsOf(excerpt.Head(text, quotedMax))
	for i, line := range lines {
		line = excerpt.Head(strings.TrimSpace(line), quotedMax)
		if score := similarity(line, pairs); score > most {
			best, most = i, score
		}
	}
	return best
}

// pair is two neighbouring bytes.
type pair [2]byte

func pairsOf(text string) map[pair]int {
	pairs := make(map[pair]int)
	for i := 1; i < len(text); i++ {
		pairs[pair{text[i-1], text[i]}]++
	}
	return pairs
}

// similarity returns Dice's coefficient: twice the common pairs, divided by all pairs.
func similarity(line string, pairs map[pair]int) float64 {
	total, common := 0, 0
	for _, n := range pairs {
		total += n
	}
	seen := make(map[pair]int)
	for i := 1; i < len(line); i++ {
		p := pair{line[i-1], line[i]}
		total++
		if seen[p] < pairs[p] {
			seen[p]++
			common++
		}
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(common) / float64(total)
}
