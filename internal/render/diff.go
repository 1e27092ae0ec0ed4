package render

// A diffLine is one line of a comparison of two texts.
type diffLine struct {
	sign byte // ' ' in both, '-' only in the old text, '+' only in the new, or gap
	text string
}

// gap is the sign of a diffLine that stands for omitted common lines.
const gap = 0

// maxTable limits the work of comparing two texts, in pairs of lines. Beyond a thousand changed
// lines against a thousand, a diff would be too long to read, so all old lines are shown as removed
// and all new ones as added.
const maxTable = 1 << 20

// contextLines is the number of lines shown around each change.
const contextLines = 2

// lineDiff compares two texts line by line, and keeps the lines around changes.
func lineDiff(old, new []string) []diffLine {
	return nearChanges(allLines(old, new))
}

// allLines compares two texts line by line, and keeps every line.
func allLines(old, new []string) []diffLine {
	head := commonPrefix(old, new)
	tail := commonSuffix(old[head:], new[head:])
	out := make([]diffLine, 0, len(old)+len(new))
	out = appendLines(out, ' ', old[:head])
	out = append(out, diffMiddle(old[head:len(old)-tail], new[head:len(new)-tail])...)
	return appendLines(out, ' ', old[len(old)-tail:])
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// diffMiddle compares two texts by their longest common subsequence.
func diffMiddle(a, b []string) []diffLine {
	if len(a)*len(b) > maxTable {
		return appendLines(appendLines(nil, '-', a), '+', b)
	}
	common := commonTable(a, b)
	var out []diffLine
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return appendLines(appendLines(out, '-', a[i:]), '+', b[j:])
}

// commonTable returns a table in which [i][j] is the length of the longest common subsequence of
// a[i:] and b[j:].
func commonTable(a, b []string) [][]int32 {
	table := make([][]int32, len(a)+1)
	table[len(a)] = make([]int32, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		table[i] = make([]int32, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

func appendLines(out []diffLine, sign byte, texts []string) []diffLine {
	for _, t := range texts {
		out = append(out, diffLine{sign, t})
	}
	return out
}

// nearChanges replaces common lines that are far from any change by a gap.
func nearChanges(all []diffLine) []diffLine {
	keep := make([]bool, len(all))
	for i, l := range all {
		if l.sign == ' ' {
			continue
		}
		for j := max(i-contextLines, 0); j <= min(i+contextLines, len(all)-1); j++ {
			keep[j] = true
		}
	}
	var out []diffLine
	for i, l := range all {
		switch {
		case keep[i]:
			out = append(out, l)
		case i == 0 || keep[i-1]:
			out = append(out, diffLine{sign: gap})
		}
	}
	return out
}
