package document

import (
	"bytes"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// The YAML parser has no limits, and the time of several of its steps grows with the square of
// their input: a manifest of 32 KiB could keep it busy for seconds, one of 1 MiB for hours. So its
// input is measured first. Each limit is far above what a manifest of a hundred tools needs, and
// low enough that the worst accepted input takes about a second.
const (
	// maxMarks limits the characters that can begin a token, and so the memory of the lexer, which
	// builds all tokens before any can be counted.
	maxMarks = 100_000
	// maxTokens limits the tokens: the parser reads the keys of a block mapping recursively, and
	// copies all following tokens for each.
	maxTokens = 20_000
	// maxBlankLines limits blank lines in a row: at the end of a block scalar the lexer copies the
	// whole text once for each.
	maxBlankLines = 25
	// maxAngles limits "<" in a row: the lexer counts them again at each.
	maxAngles = 100
	// maxTabWork limits the sum of the distances from tabs to the ends of their lines: inside
	// double quotes the lexer walks each of them.
	maxTabWork = 20_000_000
	// maxKeyLength limits keys: the parser gives each value the names of all keys above it.
	maxKeyLength = 200
	// maxTokenDepth limits the nesting that the tokens show before they are parsed. It is a rough
	// measure, hence a wider limit.
	maxTokenDepth = 4 * maxDepth
)

// A shape holds the measures of a manifest's bytes, taken in one pass.
type shape struct {
	Position      // of the current character
	marks         int
	tabWork       int
	blank, angles int  // in a row
	empty         bool // the line so far is blank
}

// misshapen returns why data must not reach the lexer, and the place of the reason. It returns ""
// if data may reach the lexer.
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

// next handles one character; rest is the text after it.
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
		return "has too much punctuation"
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

// tooDeep returns the token at which the nesting exceeds maxTokenDepth, or nil. Brackets nest by
// themselves; entries and keys of block style nest by their columns.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets := 0
	var columns []int // of the open block collections, ascending
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

// openColumn closes the collections to the right of column and opens one there.
func openColumn(columns []int, column int) []int {
	for len(columns) > 0 && columns[len(columns)-1] >= column {
		columns = columns[:len(columns)-1]
	}
	return append(columns, column)
}

// tooLong returns the first key that exceeds maxKeyLength, or nil.
func tooLong(tokens token.Tokens) *token.Token {
	for i, tk := range tokens {
		if tk.Type == token.MappingValueType && i > 0 && utf8.RuneCountInString(tokens[i-1].Value) > maxKeyLength {
			return tokens[i-1]
		}
	}
	return nil
}
