package editfile

import (
	"bytes"
	"slices"
	"strings"
)

// A tomlItem is one header, or one key with its value.
type tomlItem struct {
	path    []string // from the top; nil inside a list, to which no path of keys leads
	at      []string // the same path, but also set inside a list
	header  bool
	list    bool // a header [[of a list]]
	table   bool // a value in braces
	section int  // the header above it, as an index of items; -1: before the first
	within  int  // the offset of the value in braces that contains it; -1: none
	start   int  // of the key, or of the header's bracket
	value   int  // of the value
	end     int
}

func (t tomlItem) is(path []string) bool { return t.path != nil && slices.Equal(t.path, path) }

// A tomlDoc is a valid TOML text and the places of its keys.
type tomlDoc struct {
	data  []byte
	items []tomlItem
	lists [][]string // the paths of [[lists of tables]]
	pos   int
}

// scanTOML finds the keys of a text that a parser has accepted.
func scanTOML(data []byte) *tomlDoc {
	d := &tomlDoc{data: data}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		d.pos = len(byteOrderMark)
	}
	section, prefix := -1, scope{path: []string{}, at: []string{}}
	for d.skip(" \t\r\n"); d.pos < len(data); d.skip(" \t\r\n") {
		if data[d.pos] == '[' {
			prefix = d.header()
			section = len(d.items) - 1
			continue
		}
		d.keyValue(prefix, section, -1)
	}
	return d
}

// skip skips the given characters, and comments.
func (d *tomlDoc) skip(blanks string) {
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; {
		case strings.IndexByte(blanks, c) >= 0:
			d.pos++
		case c == '#':
			for d.pos < len(d.data) && d.data[d.pos] != '\n' {
				d.pos++
			}
		default:
			return
		}
	}
}

// A scope is the path of a table.
type scope struct {
	path []string // nil inside a list
	at   []string // the same, also inside a list
}

// below returns the scope of a key in it.
func (s scope) below(key []string) scope {
	out := scope{at: append(slices.Clone(s.at), key...)}
	if s.path != nil {
		out.path = append(slices.Clone(s.path), key...)
	}
	return out
}

// header reads [a.b] or [[a.b]], and returns the scope of what follows.
func (d *tomlDoc) header() scope {
	start := d.pos
	list := strings.HasPrefix(string(d.data[d.pos:]), "[[")
	d.pos++
	if list {
		d.pos++
	}
	path := d.key()
	in := scope{path, path}
	d.pos++ // the bracket
	if list {
		d.pos++
	}
	below := list || slices.ContainsFunc(d.lists, func(l []string) bool { return len(l) <= len(path) && slices.Equal(l, path[:len(l)]) })
	if list {
		d.lists = append(d.lists, path)
	}
	if below {
		in.path = nil
	}
	d.items = append(d.items, tomlItem{path: in.path, at: in.at, header: true, list: list, section: len(d.items), within: -1, start: start, value: start, end: d.pos})
	return in
}

// key reads a dotted key and the blanks after it.
func (d *tomlDoc) key() []string {
	var path []string
	for d.pos < len(d.data) {
		d.skip(" \t")
		start := d.pos
		switch c := d.at(); c {
		case '"', '\'':
			d.text(c)
		default:
			for d.pos < len(d.data) && strings.IndexByte(" \t.=]\r\n", d.data[d.pos]) < 0 {
				d.pos++
			}
		}
		path = append(path, keyText(string(d.data[start:d.pos])))
		d.skip(" \t")
		if d.at() != '.' {
			return path
		}
		d.pos++
	}
	return path
}

// keyText returns the meaning of a key, without quotes.
func keyText(raw string) string {
	if raw == "" || raw[0] != '"' && raw[0] != '\'' {
		return raw
	}
	values, err := parseTOML([]byte(raw + " = 0"))
	if err != nil {
		return raw
	}
	for name := range values {
		return name
	}
	return raw
}

func (d *tomlDoc) keyValue(prefix scope, section, within int) {
	start := d.pos
	key := d.key()
	if d.at() != '=' { // not TOML after all: no splice will fit
		d.pos = len(d.data)
		return
	}
	d.pos++
	d.skip(" \t")
	in := prefix.below(key)
	item := tomlItem{path: in.path, at: in.at, section: section, within: within, start: start, value: d.pos, table: d.at() == '{'}
	n := len(d.items)
	d.items = append(d.items, item)
	d.skipValue(in, section)
	d.items[n].end = d.pos
}

func (d *tomlDoc) at() byte {
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

// skipValue skips a value, and records the keys of tables in braces.
func (d *tomlDoc) skipValue(in scope, section int) {
	switch c := d.at(); c {
	case '"', '\'':
		d.text(c)
	case '[':
		d.pos++
		for d.skip(" \t\r\n,"); d.pos < len(d.data) && d.at() != ']'; d.skip(" \t\r\n,") {
			d.skipValue(scope{at: in.at}, section)
		}
		d.pos = min(d.pos+1, len(d.data))
	case '{':
		table := d.pos
		d.pos++
		for d.skip(" \t\r\n,"); d.pos < len(d.data) && d.at() != '}'; d.skip(" \t\r\n,") {
			d.keyValue(in, section, table)
		}
		d.pos = min(d.pos+1, len(d.data))
	default:
		d.scalar()
	}
}

// scalar skips a number, a boolean or a time, which may contain a space.
func (d *tomlDoc) scalar() {
	end := strings.IndexAny(string(d.data[d.pos:]), ",]}#\r\n")
	if end < 0 {
		end = len(d.data) - d.pos
	}
	if end == 0 { // not TOML after all
		d.pos = min(d.pos+1, len(d.data))
		return
	}
	d.pos += len(strings.TrimRight(string(d.data[d.pos:d.pos+end]), " \t"))
}

// text skips a string of any of the four kinds.
func (d *tomlDoc) text(quote byte) {
	three := strings.Repeat(string(quote), 3)
	if !strings.HasPrefix(string(d.data[d.pos:]), three) {
		d.pos++
		d.until(quote, 1)
		return
	}
	d.pos += 3
	d.until(quote, 3)
	for n := 0; n < 2 && d.at() == quote; n++ { // up to two quotes before the closing ones are part of the text
		d.pos++
	}
}

// until skips everything up to the given number of quotes in a row, and these.
func (d *tomlDoc) until(quote byte, count int) {
	for run := 0; d.pos < len(d.data); {
		c := d.data[d.pos]
		d.pos++
		switch {
		case c == '\\' && quote == '"':
			d.pos++
			run = 0
		case c == quote:
			if run++; run == count {
				return
			}
		default:
			run = 0
		}
	}
	d.pos = len(d.data)
}

// section returns the header of a path, as an index of items; -1: there is none.
func (d *tomlDoc) section(path []string) int {
	return slices.IndexFunc(d.items, func(t tomlItem) bool { return t.header && t.is(path) })
}

// pathOf returns the path of a section; that of the top is empty.
func (d *tomlDoc) pathOf(section int) []string {
	if section < 0 {
		return nil
	}
	return d.items[section].path
}

// sectionEnd returns where the last key of a section ends, or its header; -1 for a top without
// keys.
func (d *tomlDoc) sectionEnd(section int) int {
	end := -1
	if section >= 0 {
		end = d.items[section].end
	}
	for _, item := range d.items {
		if item.section == section && !item.header && item.within < 0 {
			end = max(end, item.end)
		}
	}
	return end
}

// firstHeader returns the offset of the first header; -1: there is none.
func (d *tomlDoc) firstHeader() int {
	for _, item := range d.items {
		if item.header {
			return item.start
		}
	}
	return -1
}
