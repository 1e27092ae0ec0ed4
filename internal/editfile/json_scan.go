package editfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxNesting limits the nesting of values.
const maxNesting = 200

// A jsonValue is one value and its place.
type jsonValue struct {
	from, to int
	members  []jsonMember // of an object
	items    []jsonItem   // of a list
	value    any          // as encoding/json decodes it, with numbers as written
}

// A jsonMember is a name in an object, with its value.
type jsonMember struct {
	name  string
	from  int // of the name
	value *jsonValue
	comma int // after the comma that follows; 0: none
}

// A jsonItem is one of the values of a list.
type jsonItem struct {
	value *jsonValue
	comma int // after the comma that follows; 0: none
}

// member returns the last member of a name, which counts if a name occurs twice.
func (v *jsonValue) member(name string) *jsonMember {
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return &v.members[i]
		}
	}
	return nil
}

// A jsonDoc is a JSON object, with or without comments.
type jsonDoc struct {
	data []byte
	pos  int
	root jsonValue
}

func (d *jsonDoc) values() map[string]any { return d.root.value.(map[string]any) }

// scanJSON reads a text that must be one object.
func scanJSON(data []byte) (*jsonDoc, error) {
	d := &jsonDoc{data: data}
	if strings.HasPrefix(string(data), "\ufeff") {
		d.pos = len("\ufeff")
	}
	d.skip()
	root, err := d.scan(0)
	if err != nil {
		return nil, err
	}
	d.root = *root
	if d.skip(); d.pos < len(data) {
		return nil, d.fault("more than one value")
	}
	if _, ok := d.root.value.(map[string]any); !ok {
		return nil, errors.New("the file is not a JSON object")
	}
	return d, nil
}

func (d *jsonDoc) fault(what string) error {
	return fmt.Errorf("line %d: %s", strings.Count(string(d.data[:min(d.pos, len(d.data))]), "\n")+1, what)
}

// skip skips white space and comments.
func (d *jsonDoc) skip() {
	for d.pos < len(d.data) {
		rest := string(d.data[d.pos:min(d.pos+2, len(d.data))])
		switch {
		case strings.IndexByte(" \t\r\n", d.data[d.pos]) >= 0:
			d.pos++
		case rest == "//":
			d.pos += until(d.data[d.pos:], "\n")
		case rest == "/*":
			d.pos += 2 + until(d.data[d.pos+2:], "*/")
		default:
			return
		}
	}
}

// until returns the distance to the end of the first occurrence of end, or to the end of the text.
func until(data []byte, end string) int {
	if i := strings.Index(string(data), end); i >= 0 {
		return i + len(end)
	}
	return len(data)
}

func (d *jsonDoc) scan(depth int) (*jsonValue, error) {
	if depth > maxNesting {
		return nil, d.fault("nested too deeply")
	}
	v := &jsonValue{from: d.pos}
	var err error
	switch d.at() {
	case '{':
		err = d.object(v, depth)
	case '[':
		err = d.list(v, depth)
	case '"':
		v.value, err = d.text()
	default:
		v.value, err = d.word()
	}
	v.to = d.pos
	return v, err
}

func (d *jsonDoc) at() byte {
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

func (d *jsonDoc) object(v *jsonValue, depth int) error {
	values := make(map[string]any)
	v.value = values
	d.pos++
	for d.skip(); d.at() != '}'; d.skip() {
		m := jsonMember{from: d.pos}
		var err error
		if m.name, err = d.text(); err != nil {
			return err
		}
		if d.skip(); d.at() != ':' {
			return d.fault("a colon is missing")
		}
		d.pos++
		d.skip()
		if m.value, err = d.scan(depth + 1); err != nil {
			return err
		}
		more, err := d.comma('}')
		if err != nil {
			return err
		}
		if more {
			m.comma = d.pos
		}
		values[m.name] = m.value.value
		v.members = append(v.members, m)
	}
	d.pos++
	return nil
}

func (d *jsonDoc) list(v *jsonValue, depth int) error {
	values := []any{}
	d.pos++
	for d.skip(); d.at() != ']'; d.skip() {
		item, err := d.scan(depth + 1)
		if err != nil {
			return err
		}
		values = append(values, item.value)
		more, err := d.comma(']')
		if err != nil {
			return err
		}
		v.items = append(v.items, jsonItem{value: item})
		if more {
			v.items[len(v.items)-1].comma = d.pos
		}
	}
	d.pos++
	v.value = values
	return nil
}

// comma skips a comma; without one the closing bracket must follow.
func (d *jsonDoc) comma(closing byte) (bool, error) {
	before := d.pos
	d.skip()
	switch d.at() {
	case ',':
		d.pos++
		return true, nil
	case closing:
		d.pos = before
		return false, nil
	}
	return false, d.fault("a comma or a closing bracket is missing")
}

func (d *jsonDoc) text() (string, error) {
	if d.at() != '"' {
		return "", d.fault("a name in quotes is missing")
	}
	from := d.pos
	for d.pos++; d.pos < len(d.data) && d.data[d.pos] != '"'; d.pos++ {
		if d.data[d.pos] == '\\' {
			d.pos++
		}
	}
	d.pos = min(d.pos+1, len(d.data))
	var s string
	if err := json.Unmarshal(d.data[from:d.pos], &s); err != nil {
		return "", d.fault("not a string")
	}
	return s, nil
}

// word reads a number, true, false or null.
func (d *jsonDoc) word() (any, error) {
	from := d.pos
	for d.pos < len(d.data) && strings.IndexByte(" \t\r\n,]}/", d.data[d.pos]) < 0 {
		d.pos++
	}
	v, err := decode(d.data[from:d.pos])
	if err != nil {
		return nil, d.fault("not a JSON value")
	}
	return v, nil
}
