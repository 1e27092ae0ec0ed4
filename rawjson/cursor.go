package rawjson

import "unsafe"

// Cursor reads the fields of one object, one after another, for a caller that wants no [Object]:
//
//	c := Fields(line, 0)
//	for c.Next() {
//		switch c.Name { … c.Value … }
//	}
//	if c.Err != nil { … }
//
// A repeated key is met as often as it is there.
type Cursor struct {
	Name  string // of the field Next came to; aliases the data
	Value Span   // of its value
	End   int    // the index after the object, once Next has reported false
	Err   error  // why Next reported false, unless the object simply ended

	scan scanner
	i    int  // the next byte
	more bool // a field is due
}

// Fields returns a cursor before the first field of the object that starts at data[i].
func Fields(data []byte, i int) Cursor { return FieldsWithin(data, i, maxDepth) }

// FieldsWithin is [Fields] for an object of at most so many levels, its own among them; see
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

// Next goes to the next field, and reports false after the last one and where the data is not JSON.
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

// name reads a key and passes over its colon.
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
	if !c.scan.traits.verbatim(body) {
		c.Name = string(unescape(body))
		return next
	}
	// The one allocation a name would cost, for every field of every message. The values alias data
	// too, so the rule that data stays unchanged is needed anyway.
	c.Name = unsafe.String(unsafe.SliceData(body), len(body))
	return next
}

// after passes over what follows a field: a comma, or the end of the object.
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
