package document

import (
	"bytes"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// The YAML parser bounds nothing itself, and several of its steps take time that grows with the
// square of their input: a manifest of 32 KiB could keep it busy for seconds, one of 1 MiB for
// hours. So its input is measured first. Each bound is far above what a manifest of a hundred tools
// needs, and low enough that the worst input that passes costs about a second, not a hang.
const (
	// maxMarks bounds the characters that can begin a token, and so the memory of the lexer, which
	// builds all tokens before any can be counted.
	maxMarks = 100_000
	// maxTokens bounds the tokens: the parser takes the keys of a block mapping by recursion,
	// copying all that follow each.
	maxTokens = 20_000
	// maxBlankLines bounds blank lines in a row: at the end of a block scalar the lexer copies the
	// whole text once for each.
	maxBlankLines = 25
	// maxAngles bounds "<" in a row, counted anew by the lexer at each.
	maxAngles = 100
	// maxTabWork bounds the distances from tabs to the ends of their lines, summed: inside double
	// quotes the lexer walks each of them.
	maxTabWork = 20_000_000
	// maxKeyLength bounds keys: the parser gives each value the names of all the keys above it.
	maxKeyLength = 200
	// maxTokenDepth bounds the nesting as the tokens show it, before they are parsed: more roughly,
	// hence wider.
	maxTokenDepth = 4 * maxDepth
)

// A shape is what is measured of a manifest's bytes, in one pass.
type shape struct {
	Position      // of the character being looked at
	marks         int
	tabWork       int
	blank, angles int  // in a row
	empty         bool // the line so far
}

// misshapen returns why data must not reach the lexer, and where; "" where it may.
func misshapen(data []byte) (why string, at Position) {
	s := shape{Position: Position{1, 1}, empty: true}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return "is not UTF-8", s.Position
		}
		if why := s.next(r, data[i+size:]); why != "" {
			return why, s.Position
		}
		i += size
	}
	return "", Position{}
}

// next takes one character; rest is what follows it.
func (s *shape) next(r rune, rest []byte) (why string) {
	switch {
	case r == '\n' || r == '\r' && !bytes.HasPrefix(rest, []byte("\n")):
		return s.newline()
	case r == '\t':
		s.tabWork += lineLength(rest)
	case r < 0x20 && r != '\r' || r == 0x7f:
		return "has a control character"
	case r != ' ' && r != '\r':
		s.empty = false
	}
	s.mark(r)
	if why := s.excess(); why != "" {
		return why
	}
	s.Column++
	return ""
}

func (s *shape) mark(r rune) {
	if r < 0x80 && bytes.IndexByte([]byte("[]{},:-?&*!|>'\"%#@"), byte(r)) >= 0 {
		s.marks++
	}
	if r == '<' {
		s.angles++
	} else {
		s.angles = 0
	}
}

func (s *shape) newline() (why string) {
	if s.empty {
		s.blank++
	} else {
		s.blank = 0
	}
	if s.blank > maxBlankLines {
		return "has too many blank lines in a row"
	}
	s.Line++
	s.Column, s.empty = 1, true
	return ""
}

func (s *shape) excess() (why string) {
	switch {
	case s.marks > maxMarks:
		return "has too much punctuation for a manifest"
	case s.angles > maxAngles:
		return `has too many "<" in a row`
	case s.tabWork > maxTabWork:
		return "has too many tabs in long lines"
	}
	return ""
}

func lineLength(rest []byte) int {
	if end := bytes.IndexAny(rest, "\r\n"); end >= 0 {
		return end
	}
	return len(rest)
}

// tooDeep returns the token at which the nesting passes maxTokenDepth, nil where it does not.
// Brackets nest by themselves; entries and keys of block style nest by their columns.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets := 0
	var columns []int // of the open block collections, rising
	for i, tk := range tokens {
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			brackets++
		case token.MappingEndType, token.SequenceEndType:
			brackets--
		case token.SequenceEntryType:
			columns = openColumn(columns, tk.Position.Column)
		case token.MappingValueType:
			if brackets <= 0 && i > 0 {
				columns = openColumn(columns, tokens[i-1].Position.Column)
			}
		}
		if brackets+len(columns) > maxTokenDepth {
			return tk
		}
	}
	return nil
}

// openColumn closes the collections right of column and opens one there.
func openColumn(columns []int, column int) []int {
	for len(columns) > 0 && columns[len(columns)-1] >= column {
		columns = columns[:len(columns)-1]
	}
	return append(columns, column)
}

// tooLong returns the first key that passes maxKeyLength, nil where none does.
func tooLong(tokens token.Tokens) *token.Token {
	for i, tk := range tokens {
		if tk.Type == token.MappingValueType && i > 0 && utf8.RuneCountInString(tokens[i-1].Value) > maxKeyLength {
			return tokens[i-1]
		}
	}
	return nil
}
