package rawjson

import "unsafe"

// A Cursor reads the fields of one object, one after another, for a caller that needs no [Object]:
//
//	c := Fields(line, 0)
//	for c.Next() {
//		switch c.Name { … c.Value … }
//	}
//	if c.Err != nil { … }
//
// A repeated key is returned each time.
type Cursor struct {
	Name  string // of the current field; aliases the data
	Value Span   // of its value
	End   int    // the index after the object, once Next has returned false
	Err   error  // why Next returned false, unless the object simply ended

	scan scanner
	i    int  // the next byte
	more bool // a field follows
}

// Fields returns a cursor before the first field of the object that starts at data[i].
func Fields(data []byte, i int) Cursor { return FieldsWithin(data, i, maxDepth) }

// FieldsWithin is [Fields] for an object of at most depth levels, including its own; see
// [MaxForeign]. A deeper one ends with a [*DepthError].
func FieldsWithin(data []byte, i, depth int) Cursor {
	c := Cursor{scan: scanner{data: data, open: nesting{most: depth - 1, outer: 1}}, i: i, End: i}
	if at(data, i) != '{' {
		c.Err = unexpected(data, i, "where an object is due")
		return c
	}
	c.i = c.scan.space(i + 1)
	if c.more = at(data, c.i) != '}'; !c.more {
		c.i++
	}
	c.End = c.i
	return c
}

// Next goes to the next field. It returns false after the last one, and if the data is not JSON.
func (c *Cursor) Next() bool {
	if !c.more || c.Err != nil {
		return false
	}
	i := c.name(c.i)
	if c.Err == nil {
		c.Value, c.Err = c.scan.span(i)
		i = c.Value.End
	}
	if c.Err == nil {
		i = c.after(i)
	}
	c.i, c.End = i, i
	return c.Err == nil
}

// Outline returns the outline of the current value.
func (c *Cursor) Outline() Outline {
	o := c.scan.outline
	if c.Value.Spaced {
		o.fields = 0
	}
	o.size = uint32(c.Value.End - c.Value.Start)
	return o
}

// name reads a key and its colon.
func (c *Cursor) name(i int) int {
	data := c.scan.data
	c.scan.traits = 0
	next, err := c.scan.key(i)
	if err != nil {
		c.Err = err
		return next
	}
	end := next - 1 // back over the colon, and the white space around it, to the closing quote
	for data[end] != '"' {
		end--
	}
	body := data[i+1 : end]
	c.Name = fieldName(body, c.scan.traits)
	return next
}

// fieldName decodes the body of a key. A name that needs no decoding aliases the data. This saves
// the allocation of a string for every field of every message. The values alias the data too, so it
// must not change anyway.
func fieldName(body []byte, t traits) string {
	if !t.verbatim(body) {
		return string(unescape(body))
	}
	return unsafe.String(unsafe.SliceData(body), len(body))
}

// after reads what follows a field: a comma, or the end of the object.
func (c *Cursor) after(i int) int {
	i = c.scan.space(i)
	switch at(c.scan.data, i) {
	case ',':
		return c.scan.space(i + 1)
	case '}':
		c.more = false
		return i + 1
	}
	c.Err = unexpected(c.scan.data, i, "after a field")
	return i
}
