package jail

// A codec goes through the fields of a message, in their order, and writes them or reads them: one
// list of fields serves both ways, so that the two sides cannot differ. Numbers are eight bytes,
// the low ones first; a text is its length and its bytes; a list is its length and its elements.
// There is one way to write a message, and only that can be read.
type codec struct {
	reading bool
	data    []byte // what was written, or what is still to be read
	bad     bool   // what was read is no such message
}

// A message is something with fields.
type message interface{ fields(c *codec) }

// encode writes a message.
func encode(m message) []byte {
	c := codec{data: make([]byte, 0, 4096)}
	m.fields(&c)
	return c.data
}

// decode reads a message, and reports whether the bytes are one, to the last.
func decode(data []byte, m message) bool {
	c := codec{reading: true, data: data}
	m.fields(&c)
	return !c.bad && len(c.data) == 0
}

const numberSize = 8

// word is a number as it is written.
func (c *codec) word(n uint64) uint64 {
	if !c.reading {
		for range numberSize {
			c.data = append(c.data, byte(n))
			n >>= 8
		}
		return 0
	}
	if len(c.data) < numberSize {
		c.fail()
		return 0
	}
	for i := range numberSize {
		n |= uint64(c.data[i]) << (8 * i)
	}
	c.data = c.data[numberSize:]
	return n
}

// fail makes all that follows empty.
func (c *codec) fail() { c.bad, c.data = true, nil }

// number is a number that is not negative. What does not fit is no number.
func number[T ~int | ~int64 | ~uint16 | ~uint32 | ~uint64](c *codec, n *T) {
	if !c.reading {
		c.word(uint64(*n))
		return
	}
	word := c.word(0)
	if *n = T(word); uint64(*n) != word || *n < 0 {
		*n = 0
		c.fail()
	}
}

func (c *codec) flag(b *bool) {
	var n uint16
	if !c.reading && *b {
		n = 1
	}
	number(c, &n)
	if c.reading {
		*b = n == 1
	}
	if n > 1 {
		c.fail()
	}
}

// length is that of a text or a list, whose elements take so many bytes at the least. What is
// announced and is not there costs no memory.
func (c *codec) length(n, least int) int {
	number(c, &n)
	if c.reading && n > len(c.data)/least {
		c.fail()
		return 0
	}
	return n
}

// text is a text or bytes; empty ones are nil.
func text[T ~string | ~[]byte](c *codec, s *T) {
	n := c.length(len(*s), 1)
	if !c.reading {
		c.data = append(c.data, *s...)
		return
	}
	var none T
	if *s = none; n > 0 {
		*s = T(c.data[:n:n])
		c.data = c.data[n:]
	}
}

// list is any number of elements, each of which begins with a number.
func list[T any](c *codec, elements *[]T, field func(*codec, *T)) {
	n := c.length(len(*elements), numberSize)
	if c.reading {
		*elements = nil
		if n > 0 {
			*elements = make([]T, n)
		}
	}
	for i := range *elements {
		field(c, &(*elements)[i])
	}
}
