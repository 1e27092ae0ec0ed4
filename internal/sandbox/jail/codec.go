package jail

// A codec visits the fields of a message in order, and either writes or reads them. One list of
// fields serves both directions, so that the two sides cannot differ. A number takes eight bytes,
// low byte first; a text is its length and its bytes; a list is its length and its elements. Each
// message has exactly one encoding, and only that is accepted.
type codec struct {
	reading bool
	data    []byte // the bytes written so far, or those still to be read
	bad     bool   // the bytes read are not a valid message
}

// A message is a type with fields that a codec can visit.
type message interface{ fields(c *codec) }

// encode returns the encoded message.
func encode(m message) []byte {
	c := codec{data: make([]byte, 0, 4096)}
	m.fields(&c)
	return c.data
}

// decode reads a message and reports whether data is exactly one.
func decode(data []byte, m message) bool {
	c := codec{reading: true, data: data}
	m.fields(&c)
	return !c.bad && len(c.data) == 0
}

const numberSize = 8

// word writes n, or reads and returns a number.
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

// fail marks the message as bad, and makes all further fields empty.
func (c *codec) fail() { c.bad, c.data = true, nil }

// number visits a number that is not negative. Reading fails if it does not fit the type.
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

// length visits the length of a text or a list. Each element takes least bytes or more. Reading
// fails if there are fewer bytes than announced, before memory is allocated for them.
func (c *codec) length(n, least int) int {
	number(c, &n)
	if c.reading && n > len(c.data)/least {
		c.fail()
		return 0
	}
	return n
}

// text visits a string or bytes. Empty ones are read as nil.
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

// list visits a list. The encoding of each element must begin with a number.
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
