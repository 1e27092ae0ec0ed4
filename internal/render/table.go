package render

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Cell is one field of a table: one line of text, which may be foreign.
type Cell struct {
	Text  string
	Style Style
	Right bool // aligned to the right, for numbers
	Whole bool // neither it nor its column is cut: for ids, which users copy
}

// Cells returns plain texts as a row.
func Cells(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, t := range texts {
		row[i].Text = t
	}
	return row
}

// Head returns the first row of a table.
func Head(texts ...string) []Cell {
	row := Cells(texts...)
	for i := range row {
		row[i].Style = StyleBold
	}
	return row
}

// columnGap is the space between two columns.
const columnGap = "  "

// Table writes rows in aligned columns. On a narrow screen the widest columns are cut, except for
// whole ones. Without a screen nothing is cut, so that scripts get everything.
func Table(w io.Writer, rows [][]Cell, o Options) error {
	var b strings.Builder
	for _, line := range tableLines(rows, o, o.Width) {
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// TableWidth returns how many columns of the screen a table needs if every text is cut to most
// columns.
func TableWidth(rows [][]Cell, most int) int {
	rows = safeRows(rows)
	widths := columnWidths(rows)
	whole := wholeColumns(rows, len(widths))
	sum := len(columnGap) * (len(widths) - 1)
	for i, w := range widths {
		if !whole[i] {
			w = min(w, most)
		}
		sum += w
	}
	return sum
}

// tableLines lays out a table; a width of 0 cuts nothing.
func tableLines(rows [][]Cell, o Options, width int) []string {
	rows = safeRows(rows)
	widths := columnWidths(rows)
	if width > 0 {
		narrow(widths, wholeColumns(rows, len(widths)), width)
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = tableLine(row, widths, o)
	}
	return out
}

// minColumn is the smallest width of a column. Narrower text could not be understood.
const minColumn = 8

// wholeColumns reports which columns must not be made narrower.
func wholeColumns(rows [][]Cell, n int) []bool {
	whole := make([]bool, n)
	for _, row := range rows {
		for i, c := range row {
			whole[i] = whole[i] || c.Whole
		}
	}
	return whole
}

// narrow makes the widest columns narrower until all fit, if that is possible.
func narrow(widths []int, whole []bool, width int) {
	over := len(columnGap)*(len(widths)-1) - width
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if !whole[i] && (widest < 0 || w >= widths[widest]) { // of two equal ones the later, because the first columns matter most
				widest = i
			}
		}
		if widest < 0 || widths[widest] <= minColumn {
			return
		}
		widths[widest]--
	}
}

// safeRows makes every text safe for a terminal, before it is measured.
func safeRows(rows [][]Cell) [][]Cell {
	out := make([][]Cell, len(rows))
	for i, row := range rows {
		out[i] = make([]Cell, len(row))
		for j, c := range row {
			c.Text = Line(c.Text)
			out[i][j] = c
		}
	}
	return out
}

func columnWidths(rows [][]Cell) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(c.Text))
		}
	}
	return widths
}

func tableLine(row []Cell, widths []int, o Options) string {
	var b strings.Builder
	for i, c := range row {
		text := Cut(c.Text, widths[i])
		pad := strings.Repeat(" ", max(widths[i]-ansi.StringWidth(text), 0))
		if i > 0 {
			b.WriteString(columnGap)
		}
		if c.Right {
			b.WriteString(pad + o.paint(c.Style, text))
		} else {
			b.WriteString(o.paint(c.Style, text) + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
