package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A space is how much of the screen live lines may take. They must also fit after the terminal has
// become narrow and has wrapped them: rows without a place would move into the scrollback, where no
// program can remove them.
type space struct {
	lines  int
	rows   int // after the terminal has become narrow
	narrow int // columns
}

// liveRoom returns how many lines the live part may have. A third of the screen stays for finished
// lines.
func (l look) liveRoom() int { return max(l.height-l.height/3, 3) }

// liveSpace returns the space of the whole live part.
func (l look) liveSpace() space { return space{l.liveRoom(), l.height, l.narrow()} }

// wholeScreen returns the space on the alternate screen, which has no scrollback.
func (l look) wholeScreen() space { return space{l.height, l.height, max(l.width, 1)} }

// narrow returns how narrow the terminal may suddenly become: half as wide, or 80 columns.
func (l look) narrow() int { return max(min(l.width/2, assumedWidth), 1) }

// without returns the space that is left beside some lines.
func (s space) without(lines ...string) space {
	s.lines -= len(lines)
	s.rows -= rowsAt(s.narrow, lines)
	return s
}

// has reports whether there is space for the lines.
func (s space) has(lines []string) bool {
	left := s.without(lines...)
	return left.lines >= 0 && left.rows >= 0
}

// first returns as many of the first lines as there is space for.
func (s space) first(lines []string) []string {
	lines = clip(lines, s.lines)
	for !s.has(lines) && len(lines) > 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// last returns as many of the last lines as there is space for.
func (s space) last(lines []string) []string {
	lines = lines[max(len(lines)-max(s.lines, 0), 0):]
	for !s.has(lines) && len(lines) > 0 {
		lines = lines[1:]
	}
	return lines
}

// count returns for how many lines there is space if all are as wide as the widest, but at least 1.
func (s space) count(lines []string) int {
	most := 1
	for i := range lines {
		most = max(most, rowsAt(s.narrow, lines[i:i+1]))
	}
	return max(min(s.lines, s.rows/most), 1)
}

// clip keeps the first n lines.
func clip(lines []string, n int) []string { return lines[:min(len(lines), max(n, 0))] }

// rowsAt counts the rows that lines take in a terminal of this width, which wraps long lines.
func rowsAt(width int, lines []string) int {
	n := 0
	for _, line := range lines {
		n += max((ansi.StringWidth(strings.TrimRight(line, " "))+width-1)/width, 1)
	}
	return n
}
