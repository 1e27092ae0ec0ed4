package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is a Markdown table with padded columns, so that it is readable as plain text too.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table. Every column except the first is aligned right.
func (t *table) write(w io.Writer) {
	widths := t.widths()
	writeRow(w, t.head, widths)
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
		if i > 0 {
			rule[i] = rule[i][1:] + ":"
		}
	}
	writeRow(w, rule, widths)
	for _, row := range t.rows {
		writeRow(w, row, widths)
	}
}

// widths returns the widths of the columns, in characters.
func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func writeRow(w io.Writer, cells []string, widths []int) {
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 0 {
			fmt.Fprintf(w, "| %s%s ", cell, pad)
		} else {
			fmt.Fprintf(w, "| %s%s ", pad, cell)
		}
	}
	fmt.Fprintln(w, "|")
}

// number formats v with three significant digits, and with commas between thousands: 0.123, 12.3,
// 123, 12,345.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v >= 1000:
		return thousands(int64(math.Round(v)))
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', min(decimals, 3), 64)
}

// thousands formats n with a comma before each three digits.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// times formats a ratio.
func times(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + " ×"
}

// percent formats a noise.
func percent(v float64) string { return "±" + strconv.FormatFloat(v*100, 'f', 1, 64) + " %" }
