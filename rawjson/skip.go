package rawjson

import "fmt"

const (
	// maxDepth is the limit of encoding/json, so that both agree on valid JSON.
	maxDepth = 10_000

	// MaxForeign is how many levels a value of a plugin may have. Usual data has far fewer. The
	// host wraps such a value (in a payload, a trace, an event of the journal), which adds a few
	// levels and stays far below maxDepth.
	MaxForeign = 1_000
)

// A SyntaxError says where and why data is not JSON.
type SyntaxError struct {
	Offset int    // index of the invalid byte
	Why    string // e.g. "invalid character 'x' where a value is due"
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, e.Why) }

// A DepthError says that a value is nested too deep.
type DepthError struct {
	Offset int // index of the first bracket that is too deep
	Most   int // how many levels are allowed
}

func (e *DepthError) Error() string {
	return fmt.Sprintf("nested deeper than the limit of %d levels, at byte %d", e.Most, e.Offset)
}

// A Span is the position of a value in its data, and what the value needs before it can be passed
// on.
type Span struct {
	Start, End int
	Spaced     bool // has insignificant white space inside
	NonASCII   bool // has bytes above 0x7F, which may or may not be valid UTF-8
}

// Check returns nil if data is exactly one valid JSON value, with or without white space around it.
func Check(data []byte) error { return CheckWithin(data, maxDepth) }

// CheckWithin is [Check] for a value of at most depth levels; see [MaxForeign]. A deeper one is a
// [*DepthError].
func CheckWithin(data []byte, depth int) error {
	_, err := whole(data, depth)
	return err
}

// Skip validates the value that starts at data[i] (no leading space) and returns the index after
// it. spaced reports whether it has insignificant white space inside, so that [Compact] is needed.
func Skip(data []byte, i int) (end int, spaced bool, err error) {
	s, err := Scan(data, i)
	return s.End, s.Spaced, err
}

// Scan validates the value that starts at data[i], like [Skip], and returns its Span.
func Scan(data []byte, i int) (Span, error) {
	return scan(data, i, maxDepth)
}

func scan(data []byte, i, depth int) (Span, error) {
	s := scanner{data: data, open: nesting{most: depth}}
	return s.span(i)
}

// Space returns the index of the first byte at or after i that is not white space.
func Space(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// whole returns the span of the only value in data. Anything except white space around it is an
// error.
func whole(data []byte, depth int) (Span, error) {
	span, err := scan(data, Space(data, 0), depth)
	if err != nil {
		return span, err
	}
	if end := Space(data, span.End); end < len(data) {
		return span, unexpected(data, end, "after the value")
	}
	return span, nil
}

// A scanner walks over values. It has its own stack of open containers, one bit each, so that
// hostile nesting costs neither recursion nor memory. The current position is passed from step to
// step and is not in the struct: in a register it takes a third less time.
type scanner struct {
	data   []byte
	traits traits // of all strings together
	spaced bool   // there was white space
	open   nesting

	start   int     // of the value
	outline Outline // of the value, except its size
}

// span scans the value at data[i].
func (s *scanner) span(i int) (Span, error) {
	s.traits, s.spaced = 0, false
	s.start, s.outline.fields = i, 0
	end, err := s.value(i)
	return Span{Start: i, End: end, Spaced: s.spaced, NonASCII: s.traits.nonASCII()}, err
}

// value passes over the value at data[i] and all values inside it. enter goes into a container, and
// leave goes out of the containers that end.
func (s *scanner) value(i int) (int, error) {
	for more := true; more; {
		var err error
		switch c := at(s.data, i); c {
		case '"':
			i, err = s.str(i)
		case '{', '[':
			var empty bool
			if i, empty, err = s.enter(i, c); err == nil && !empty {
				continue
			}
		default:
			i, err = scalar(s.data, i, c)
		}
		if err == nil {
			i, more, err = s.leave(i)
		}
		if err != nil {
			return i, err
		}
	}
	return i, nil
}

// enter passes over the opening bracket c to the container's first value. It passes over an empty
// container as a whole.
func (s *scanner) enter(i int, c byte) (_ int, empty bool, err error) {
	if s.open.depth >= s.open.most {
		return i, false, &DepthError{Offset: i, Most: s.open.most + s.open.outer}
	}
	i = s.space(i + 1)
	if at(s.data, i) == c+2 { // in ASCII the closing bracket is two after the opening one
		return i + 1, true, nil
	}
	s.open.push(c == '{')
	if c == '{' {
		i, err = s.key(i)
	}
	return i, false, err
}

// leave goes on after a value: past the comma to the next one, or out of the containers that end
// here. more is false when the outermost has ended.
func (s *scanner) leave(i int) (_ int, more bool, err error) {
	for s.open.depth > 0 {
		i = s.space(i)
		object := s.open.bits&1 != 0
		switch c := at(s.data, i); {
		case c == ',' && object:
			i, err = s.key(s.space(i + 1))
			return i, true, err
		case c == ',':
			return s.space(i + 1), true, nil
		case c == '}' && object, c == ']' && !object:
			i++
			s.open.pop()
		default:
			return i, false, unexpected(s.data, i, "after an element")
		}
	}
	return i, false, nil
}

// key passes over an object key and its colon.
func (s *scanner) key(i int) (int, error) {
	if at(s.data, i) != '"' {
		return i, unexpected(s.data, i, "where a key is due")
	}
	if s.open.depth == 1 {
		s.outline.note(i - s.start)
	}
	i, err := s.str(i)
	if err != nil {
		return i, err
	}
	i = s.space(i)
	if at(s.data, i) != ':' {
		return i, unexpected(s.data, i, "after a key")
	}
	return s.space(i + 1), nil
}

func (s *scanner) str(i int) (int, error) {
	end, t, err := skipString(s.data, i)
	s.traits |= t
	return end, err
}

// space passes over white space. Usually there is none, so this function must be small enough for
// the compiler to inline it. It is, because spaces is not inlined into it.
func (s *scanner) space(i int) int {
	if i < len(s.data) && s.data[i] <= ' ' {
		i = s.spaces(i)
	}
	return i
}

//go:noinline
func (s *scanner) spaces(i int) int {
	end := Space(s.data, i)
	s.spaced = s.spaced || end > i
	return end
}

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r')
}

// at returns the byte at i, or 0 at the end. JSON allows no 0 byte outside strings, so both are
// refused alike.
func at(data []byte, i int) byte {
	if i < len(data) {
		return data[i]
	}
	return 0
}

// scalar passes over a value that starts with c and is neither a string nor a container.
func scalar(data []byte, i int, c byte) (int, error) {
	switch c {
	case 't':
		return literal(data, i, "true")
	case 'f':
		return literal(data, i, "false")
	case 'n':
		return literal(data, i, "null")
	}
	return number(data, i)
}

func literal(data []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if at(data, i) != word[k] {
			return i, unexpected(data, i, "in a literal")
		}
		i++
	}
	return i, nil
}

func number(data []byte, i int) (int, error) {
	if at(data, i) == '-' {
		i++
	}
	from := i
	i = digits(data, i)
	if i == from || i > from+1 && data[from] == '0' { // a zero stands alone: 01 is not a number
		return from, unexpected(data, from, "where a value is due")
	}
	return fraction(data, i)
}

// fraction passes over the fraction and the exponent of a number, if there are any.
func fraction(data []byte, i int) (int, error) {
	if at(data, i) == '.' {
		from := i + 1
		if i = digits(data, from); i == from {
			return i, unexpected(data, i, "after a decimal point")
		}
	}
	if at(data, i)|0x20 == 'e' {
		i++
		if c := at(data, i); c == '+' || c == '-' {
			i++
		}
		from := i
		if i = digits(data, from); i == from {
			return i, unexpected(data, i, "in an exponent")
		}
	}
	return i, nil
}

func digits(data []byte, i int) int {
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

// nesting is a stack of bits, one for each open container: 1 is an object. Real payloads fit one
// word; deeper ones use another word for every 64 levels.
type nesting struct {
	most  int // levels allowed in the value
	outer int // levels around the value
	depth int
	bits  uint64 // the innermost container is the lowest bit
	spill []uint64
}

func (n *nesting) push(object bool) {
	if n.depth > 0 && n.depth%64 == 0 {
		n.spill = append(n.spill, n.bits)
	}
	n.depth++
	n.bits <<= 1
	if object {
		n.bits |= 1
	}
}

func (n *nesting) pop() {
	n.depth--
	n.bits >>= 1
	if n.depth > 0 && n.depth%64 == 0 {
		last := len(n.spill) - 1
		n.bits = n.spill[last]
		n.spill = n.spill[:last]
	}
}

func unexpected(data []byte, i int, where string) error {
	if i >= len(data) {
		return &SyntaxError{i, "unexpected end " + where}
	}
	return &SyntaxError{i, fmt.Sprintf("invalid character %q %s", data[i], where)}
}
