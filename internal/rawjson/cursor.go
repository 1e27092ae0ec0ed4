package rawjson

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

	parser parser
	i      int  // the next byte
	more   bool // a field is due
}

// Fields returns a cursor before the first field of the object that starts at data[i].
func Fields(data []byte, i int) Cursor {
	c := Cursor{parser: parser{scanner{data: data}}}
	c.i, c.more, c.Err = c.parser.open(i)
	c.End = c.i
	return c
}

// Next goes to the next field, and reports false after the last one and where the data is not JSON.
func (c *Cursor) Next() bool {
	if !c.more || c.Err != nil {
		return false
	}
	name, i, err := c.parser.name(c.i)
	if err == nil {
		c.Name = name
		c.Value, err = c.parser.span(i)
		i = c.Value.End
	}
	if err == nil {
		i, c.more, err = c.parser.more(i)
	}
	c.i, c.End, c.Err = i, i, err
	return err == nil
}
