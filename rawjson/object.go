package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Field is one member of an object: its name decoded, its value raw and compact.
type Field struct {
	Name  string
	Value json.RawMessage
}

// An Object is the top level of a JSON object, in order, with each value raw and compact.
type Object []Field

// few is how many fields are compared one by one, and are on the stack while parsing. With more
// fields a map finds repeated keys, so that the time for a hostile object of a million keys does
// not grow with their square.
const few = 16

// Parse validates data and splits it at its top level. Names and values alias data, unless they
// needed decoding or compacting, so data must not be changed afterwards. Invalid UTF-8 becomes
// U+FFFD. A repeated key keeps its first place and its last value.
func Parse(data []byte) (Object, error) { return ParseWithin(data, maxDepth) }

// ParseWithin is [Parse] for an object of at most depth levels, including its own; see
// [MaxForeign]. A deeper one is a [*DepthError].
func ParseWithin(data []byte, depth int) (Object, error) {
	fields, _, err := parse(data, depth)
	return fields, err
}

// ParseForeign is [ParseWithin] for an object from a plugin, of at most [MaxForeign] levels. If one
// of its fields has two values, the error is a [*RepeatError].
func ParseForeign(data []byte) (Object, error) { return unambiguous(parse(data, MaxForeign)) }

// A RepeatError says that an object has a field twice, with different values. Readers of JSON
// disagree about which of them counts, so such an object says nothing for certain.
type RepeatError struct{ Name string }

func (e *RepeatError) Error() string { return fmt.Sprintf("the field %.80q has two values", e.Name) }

func unambiguous(fields Object, repeated *RepeatError, err error) (Object, error) {
	if err == nil && repeated != nil {
		return nil, repeated
	}
	return fields, err
}

// parse also returns a field that has two values, if there is one.
func parse(data []byte, depth int) (Object, *RepeatError, error) {
	var room [few]Field
	var names index
	var repeated *RepeatError
	fields := Object(room[:0]) // stays on the stack as long as no method gets a pointer to it
	c := FieldsWithin(data, Space(data, 0), depth)
	for c.Next() {
		value := c.Value.Clean(data)
		if i := names.find(fields, c.Name); i >= 0 {
			if !Equal(fields[i].Value, value) {
				repeated = &RepeatError{c.Name}
			}
			fields[i].Value = value
		} else {
			fields = append(fields, Field{c.Name, value})
		}
	}
	if c.Err != nil {
		return nil, nil, c.Err
	}
	if i := Space(data, c.End); i < len(data) {
		return nil, nil, unexpected(data, i, "after the object")
	}
	return append(make(Object, 0, len(fields)), fields...), repeated, nil
}

// An index finds repeated names in the fields read so far.
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

func (o Object) find(name string) int {
	for i := range o {
		if o[i].Name == name {
			return i
		}
	}
	return -1
}

// Get returns the value of that name, or nil.
func (o Object) Get(name string) json.RawMessage {
	if i := o.find(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Missing reports whether a value is absent or null.
func Missing(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// String returns the decoded value of that name, if it is a string.
func (o Object) String(name string) (string, bool) {
	return Unquote(o.Get(name))
}

// With returns a copy in which these fields are replaced, or appended if their names are new. o is
// unchanged.
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

// JSON returns the object as compact JSON.
func (o Object) JSON() json.RawMessage {
	n := 2
	for _, f := range o {
		n += len(f.Name) + len(f.Value) + len(`"":,`)
	}
	return o.Append(make([]byte, 0, n))
}

// Is reports whether data is what [Object.JSON] would return, so that the caller need not encode
// the object again. It returns false for names that need escapes, and for fields without a value.
// Values that alias data, as those of [Parse] do, are not compared byte by byte.
func (o Object) Is(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte{'{'})
	for i, f := range o {
		if ok && i > 0 {
			rest, ok = bytes.CutPrefix(rest, []byte{','})
		}
		n := len(f.Name)
		if !ok || len(rest) < n+len(`"":`)+len(f.Value) || rest[0] != '"' || rest[n+1] != '"' || rest[n+2] != ':' || string(rest[1:n+1]) != f.Name {
			return false
		}
		rest = rest[n+3:]
		if len(f.Value) == 0 || &f.Value[0] != &rest[0] && !bytes.Equal(f.Value, rest[:len(f.Value)]) {
			return false
		}
		rest = rest[len(f.Value):]
	}
	return ok && string(rest) == "}"
}
