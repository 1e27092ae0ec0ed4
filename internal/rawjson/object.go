package rawjson

import (
	"encoding/json"
	"unsafe"
)

// Field is one member of an object: the name decoded, the value raw and compact.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Object is the top level of a JSON object, in order, each value raw and compact.
type Object []Field

// few is how many fields are compared one by one, and kept on the stack while parsing. Beyond it a map finds repeated
// keys, so that a hostile object of a million keys does not cost their square.
const few = 16

// Parse validates data and splits it at its top level. Names and values alias data, which must not be changed
// afterwards, unless they needed decoding or compacting. Invalid UTF-8 becomes U+FFFD. A repeated key keeps its first
// place and its last value.
func Parse(data []byte) (Object, error) {
	var room [few]Field
	var names index
	fields := Object(room[:0]) // stays on the stack as long as no method is given a pointer to it
	p := parser{scanner{data: data}}
	i, more, err := p.open(Space(data, 0))
	for more && err == nil {
		var f Field
		if f, i, err = p.field(i); err != nil {
			break
		}
		if place := names.find(fields, f.Name); place >= 0 {
			fields[place].Value = f.Value
		} else {
			fields = append(fields, f)
		}
		i, more, err = p.more(i)
	}
	if err != nil {
		return nil, err
	}
	if i = Space(data, i); i < len(data) {
		return nil, unexpected(data, i, "after the object")
	}
	return append(make(Object, 0, len(fields)), fields...), nil
}

// index finds repeated names in the fields read so far.
type index struct {
	places map[string]int // name → place, once there are more than a few
}

func (x *index) find(fields Object, name string) int {
	if len(fields) < few {
		return fields.find(name)
	}
	if x.places == nil {
		x.places = make(map[string]int, 2*few)
		for i := range fields {
			x.places[fields[i].Name] = i
		}
	}
	if i, ok := x.places[name]; ok {
		return i
	}
	x.places[name] = len(fields) // where the caller is about to put it
	return -1
}

// parser reads the fields of one object, one after another. Like the scanner it is handed its place.
type parser struct {
	scanner
}

// open passes over the opening brace, and reports whether a field follows.
func (p *parser) open(i int) (_ int, more bool, err error) {
	if at(p.data, i) != '{' {
		return i, false, unexpected(p.data, i, "where an object is due")
	}
	i = p.space(i + 1)
	if at(p.data, i) == '}' {
		return i + 1, false, nil
	}
	return i, true, nil
}

// more passes over what follows a field: a comma, or the end of the object.
func (p *parser) more(i int) (_ int, more bool, err error) {
	i = p.space(i)
	switch at(p.data, i) {
	case ',':
		return p.space(i + 1), true, nil
	case '}':
		return i + 1, false, nil
	}
	return i, false, unexpected(p.data, i, "after a field")
}

func (p *parser) field(i int) (Field, int, error) {
	name, i, err := p.name(i)
	if err != nil {
		return Field{}, i, err
	}
	span, err := p.span(i)
	if err != nil {
		return Field{}, i, err
	}
	return Field{name, span.Clean(p.data)}, span.End, nil
}

// name reads a key and passes over its colon.
func (p *parser) name(i int) (string, int, error) {
	p.high = 0
	next, err := p.key(i)
	if err != nil {
		return "", i, err
	}
	end := next - 1 // back over the colon, and the white space around it, to the closing quote
	for p.data[end] != '"' {
		end--
	}
	body := p.data[i+1 : end]
	if !verbatim(body, p.high) {
		return string(unescape(body)), next, nil
	}
	// The one allocation a name would cost, for every field of every message. The values alias data too, so the rule
	// that data stays unchanged is needed anyway.
	return unsafe.String(unsafe.SliceData(body), len(body)), next, nil
}

func (o Object) find(name string) int {
	for i := range o {
		if o[i].Name == name {
			return i
		}
	}
	return -1
}

// Get returns the value of that name, nil where there is none.
func (o Object) Get(name string) json.RawMessage {
	if i := o.find(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// String returns the decoded value of that name, where it is a string.
func (o Object) String(name string) (string, bool) {
	return Unquote(o.Get(name))
}

// With returns a copy in which these fields are replaced, or appended where their names are new. o is unchanged.
func (o Object) With(set ...Field) Object {
	out := append(make(Object, 0, len(o)+len(set)), o...)
	for _, f := range set {
		if i := out.find(f.Name); i >= 0 {
			out[i].Value = f.Value
		} else {
			out = append(out, f)
		}
	}
	return out
}

// Append appends the object as compact JSON. A field without a value is null.
func (o Object) Append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, f := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, f.Name), ':')
		if len(f.Value) == 0 {
			dst = append(dst, "null"...)
		} else {
			dst = append(dst, f.Value...)
		}
	}
	return append(dst, '}')
}

// JSON is the object as compact JSON.
func (o Object) JSON() json.RawMessage {
	n := 2
	for _, f := range o {
		n += len(f.Name) + len(f.Value) + len(`"":,`)
	}
	return o.Append(make([]byte, 0, n))
}
