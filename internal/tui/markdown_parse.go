package tui

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newParser returns a parser for one text. It uses the parsers of goldmark's extensions, with
// goldmark's priorities, and takes roughly linear time and memory. Goldmark alone takes more for
// some texts: for a hundred kilobytes of "a*_" a minute, for tables all memory. So marks, nesting
// and tables are limited, and beyond the limit they stay text.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(depthLimit{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(depthLimit{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(&tryLimit{InlineParser: parser.NewLinkParser()}, 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(&tryLimit{InlineParser: parser.NewEmphasisParser()}, 500),
			util.Prioritized(&tryLimit{InlineParser: extension.NewStrikethroughParser()}, 500),
			util.Prioritized(&tryLimit{InlineParser: extension.NewLinkifyParser()}, 999)),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(cellLimit{extension.NewTableParagraphTransformer()}, 200)),
	)
}

// A depthLimit opens lists or quotes only down to maxDepth: the parser visits all open ones at
// every line.
type depthLimit struct{ parser.BlockParser }

// maxDepth is deeper than people nest text, and than a terminal shows well.
const maxDepth = 10

func (s depthLimit) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	_, inList := parent.(*ast.List) // the block is an item, not a list
	if !inList && depth(parent) >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// depth returns how many lists and quotes a block is in.
func depth(n ast.Node) int {
	depth := 0
	for ; n != nil; n = n.Parent() {
		switch n.(type) {
		case *ast.List, *ast.Blockquote:
			depth++
		}
	}
	return depth
}

// A tryLimit tries a mark only maxTries times in a block: the parser compares every mark with all
// open ones before it.
type tryLimit struct {
	parser.InlineParser
	tries int // in the current block
}

// maxTries is many times the number of marks in a paragraph, item or cell.
const maxTries = 500

func (s *tryLimit) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if s.tries++; s.tries > maxTries {
		return nil
	}
	return s.InlineParser.Parse(parent, block, pc)
}

// CloseBlock is called at the end of a block's text.
func (s *tryLimit) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	s.tries = 0
	if c, ok := s.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// A cellLimit leaves a huge table as a paragraph. Short rows are filled up with empty cells, so
// that a long head and many short rows, a few kilobytes of text, would take gigabytes.
type cellLimit struct{ parser.ParagraphTransformer }

// maxCells is more than people read: a thousand rows of ten cells.
const maxCells = 10_000

func (s cellLimit) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, columns := node.Lines(), 0
	for i := range lines.Len() {
		line := lines.At(i)
		columns = max(columns, 1+bytes.Count(line.Value(reader.Source()), []byte("|")))
	}
	if lines.Len()*columns <= maxCells {
		s.ParagraphTransformer.Transform(node, reader, pc)
	}
}
