package tui

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newParser is a parser for one text. It has of goldmark's extensions only the parsers, with the
// priorities that goldmark gives them, and takes about linear time and memory: what takes goldmark
// more (a hundred kilobytes of "a*_", a minute; of table, all memory there is) is bounded, and past
// the bound is text.
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

// depthLimit opens lists or quotes down to maxDepth of them in each other. The parser goes through all
// that are open at every line.
type depthLimit struct{ parser.BlockParser }

// maxDepth is deeper than text is nested, and than a terminal shows well.
const maxDepth = 10

func (s depthLimit) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	_, inList := parent.(*ast.List) // where an item is opened, and no list
	if !inList && depth(parent) >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// depth is how many lists and quotes a block is in.
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

// tryLimit tries a mark only so many times in a block. The parser holds every mark against all that
// are open before it.
type tryLimit struct {
	parser.InlineParser
	tries int // in the block that is being parsed
}

// maxTries is many times the marks of any one paragraph, item or cell.
const maxTries = 500

func (s *tryLimit) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if s.tries++; s.tries > maxTries {
		return nil
	}
	return s.InlineParser.Parse(parent, block, pc)
}

// CloseBlock is called when a block's text is at its end.
func (s *tryLimit) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	s.tries = 0
	if c, ok := s.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// cellLimit leaves what would be a huge table a paragraph. A row that is short of cells is filled up
// with empty ones, so that a long head and many short rows, a few kilobytes of text, would take
// gigabytes.
type cellLimit struct{ parser.ParagraphTransformer }

// maxCells is more than anybody reads: a thousand rows of ten cells.
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
