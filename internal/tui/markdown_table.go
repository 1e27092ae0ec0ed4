package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A table is as wide as its cells. If the screen is too narrow, the widest columns shrink and their
// cells are wrapped. If it is too narrow for columns, every row becomes a list of its cells.
type table struct {
	drawing *drawing
	align   []extast.Alignment
	widths  []int
	rows    [][][]word // rows of cells; the first has the names of the columns
}

const (
	columnBar  = "│" // with a space on both sides
	columnRule = "─┼─"
	columnGap  = 3 // the width of both
)

// minColumn is the narrowest column: less breaks most words.
const minColumn = 8

func (d *drawing) table(n *extast.Table) {
	if n.PreviousSibling() != nil {
		d.apart() // also in a tight list, because the parser calls every list with a table tight
	}
	t := table{drawing: d, align: n.Alignments, widths: make([]int, len(n.Alignments))}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		t.addRow(row)
	}
	if !t.fit(d.room() - columnGap*(len(t.widths)-1)) {
		d.records(n)
		return
	}
	t.draw()
}

func (t *table) addRow(row ast.Node) {
	_, head := row.(*extast.TableHeader)
	cells := make([][]word, 0, len(t.widths))
	for cell := row.FirstChild(); cell != nil && len(cells) < len(t.widths); cell = cell.NextSibling() {
		words := split(t.drawing.inline(cell, face{bold: head}))
		t.widths[len(cells)] = max(t.widths[len(cells)], textWidth(words))
		cells = append(cells, words)
	}
	t.rows = append(t.rows, cells)
}

// fit shrinks the widest columns until all fit, and reports whether they do.
func (t *table) fit(room int) bool {
	least, over := 0, -room
	for i, w := range t.widths {
		t.widths[i] = max(min(w, room), 1)
		least += min(t.widths[i], minColumn)
		over += t.widths[i]
	}
	if least > room {
		return false
	}
	for ; over > 0; over-- {
		t.widths[widest(t.widths)]--
	}
	return true
}

// widest returns the widest column; of two, the later, because the first columns matter most.
func widest(widths []int) int {
	at := 0
	for i, w := range widths {
		if w >= widths[at] {
			at = i
		}
	}
	return at
}

// draw draws the rows, with rules between them if some have several lines.
func (t *table) draw() {
	rows, tall := make([][]string, len(t.rows)), false
	for i, row := range t.rows {
		rows[i] = t.rowLines(row)
		tall = tall || i > 0 && len(rows[i]) > 1
	}
	for i, row := range rows {
		if i == 1 || i > 1 && tall {
			t.rule()
		}
		for _, line := range row {
			t.drawing.line(line)
		}
	}
	if len(rows) == 1 {
		t.rule()
	}
}

func (t *table) rule() {
	parts := make([]string, len(t.widths))
	for i, w := range t.widths {
		parts[i] = strings.Repeat("─", w)
	}
	t.drawing.line(t.drawing.look.dim(strings.Join(parts, columnRule)))
}

func (t *table) rowLines(row [][]word) []string {
	columns, height := make([][][]run, len(t.widths)), 1
	for i, words := range row {
		columns[i] = fill(words, t.widths[i])
		height = max(height, len(columns[i]))
	}
	bar, lines := " "+t.drawing.look.dim(columnBar)+" ", make([]string, height)
	for y := range lines {
		cells := make([]string, len(columns))
		for i, column := range columns {
			var text string
			if y < len(column) {
				text = t.drawing.look.paintRuns(column[y])
			}
			cells[i] = pad(text, t.widths[i], t.align[i])
		}
		lines[y] = strings.Join(cells, bar)
	}
	return lines
}

func pad(text string, width int, a extast.Alignment) string {
	spaces := max(width-ansi.StringWidth(text), 0)
	left := 0
	switch a {
	case extast.AlignRight:
		left = spaces
	case extast.AlignCenter:
		left = spaces / 2
	}
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", spaces-left)
}

// records draws a table without columns: each cell on its own line, after the name of its column.
func (d *drawing) records(n *extast.Table) {
	head := n.FirstChild()
	names := d.columnNames(head)
	if n.ChildCount() == 1 {
		for _, name := range names {
			d.paragraph([]run{name})
		}
	}
	for row := head.NextSibling(); row != nil; row = row.NextSibling() {
		if row.PreviousSibling() != head {
			d.apart()
		}
		column := 0
		for cell := row.FirstChild(); cell != nil && column < len(names); cell = cell.NextSibling() {
			if runs := d.inline(cell, face{}); len(runs) > 0 {
				d.paragraph(append([]run{names[column], {text: ": "}}, runs...))
			}
			column++
		}
	}
}

// columnNames returns the names of the columns, shortened, because each row shows them.
func (d *drawing) columnNames(head ast.Node) []run {
	var names []run
	w := inline{source: d.source}
	for cell := head.FirstChild(); cell != nil; cell = cell.NextSibling() {
		names = append(names, run{render.Cut(render.Line(w.plain(cell)), d.room()/2), face{bold: true}})
	}
	return names
}
