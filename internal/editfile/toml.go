package editfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// SetTOML returns data with a value, given as JSON, at a path of keys. It adds missing tables. A
// path cannot name a value of a list.
func SetTOML(data []byte, path []string, value json.RawMessage) ([]byte, error) {
	text, err := tomlValue(value)
	if err != nil {
		return nil, err
	}
	values, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	typed, err := parseTOML([]byte("x = " + text))
	if err != nil {
		return nil, fmt.Errorf("write the value in TOML: %w", err)
	}
	if len(path) == 0 {
		return nil, errors.New("no path is given")
	}
	want, err := with(values, path, typed["x"])
	if err != nil {
		return nil, err
	}
	return firstGood(data, tomlPlaces(data, path, text), want, parseTOML)
}

// RemoveTOML returns data without the value at a path of keys, or data itself if there is none. It
// removes the whole line of a value, with the comment at its end. A table stays after its last
// value was removed; an empty table can be removed by its own path.
func RemoveTOML(data []byte, path []string) ([]byte, error) {
	values, err := parseTOML(data)
	if err != nil || !at(values, path) {
		return data, err
	}
	var candidates []splice
	for _, item := range scanTOML(data).items {
		switch {
		case !item.is(path):
		case !item.header:
			candidates = append(candidates, removal(data, item))
		case isEmptyTable(values, path):
			candidates = append(candidates, headerRemoval(data, item))
		}
	}
	for { // a dotted key also makes the tables on its path, which go with their last value
		want, err := with(values, path, absent)
		if err != nil {
			return nil, err
		}
		out, err := firstGood(data, candidates, want, parseTOML)
		if path = path[:len(path)-1]; err == nil || !isEmptyTable(want, path) {
			return out, err
		}
	}
}

// isEmptyTable reports whether the value at path is a table without values.
func isEmptyTable(values map[string]any, path []string) bool {
	for _, name := range path {
		inner, ok := values[name].(map[string]any)
		if !ok {
			return false
		}
		values = inner
	}
	return len(path) > 0 && len(values) == 0
}

// byteOrderMark may begin a file; it is no part of the text.
const byteOrderMark = "\ufeff"

// ReadTOML reads a file as SetTOML and RemoveTOML do.
func ReadTOML(data []byte) (map[string]any, error) { return parseTOML(data) }

func parseTOML(data []byte) (map[string]any, error) {
	values := make(map[string]any)
	err := toml.Unmarshal(bytes.TrimPrefix(data, []byte(byteOrderMark)), &values)
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := at.Position()
		err = fmt.Errorf("line %d: %s", line, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return values, err
}

// tomlPlaces returns the ways to write a value at a path, the most natural first.
func tomlPlaces(data []byte, path []string, text string) []splice {
	doc := scanTOML(data)
	var places []splice
	for _, item := range doc.items {
		if item.is(path) && !item.header {
			places = append(places, splice{item.value, item.end, text})
		}
	}
	for n := len(path) - 1; n > 0; n-- {
		for _, item := range doc.items {
			if item.is(path[:n]) && item.table {
				places = append(places, doc.intoInline(item, assignment(path[n:], text)))
			}
		}
	}
	parent := path[:len(path)-1]
	if i := doc.section(parent); i >= 0 || len(parent) == 0 {
		places = append(places, doc.intoSection(i, assignment(path[len(path)-1:], text)))
	}
	for _, item := range slices.Backward(doc.items) { // beside keys of the same dotted table
		if !item.header && item.within < 0 && len(item.path) > len(parent) && slices.Equal(item.path[:len(parent)], parent) {
			prefix := doc.pathOf(item.section)
			places = append(places, doc.after(item.end, assignment(path[min(len(prefix), len(path)-1):], text)))
		}
	}
	return append(places, doc.newTables(path, text)...)
}

// newTables writes the value below its own header: after the parent table, or at the end of the
// file.
func (d *tomlDoc) newTables(path []string, text string) []splice {
	nl := newline(d.data)
	parent, last := path[:len(path)-1], path[len(path)-1:]
	table := "[" + dotted(parent) + "]" + nl + assignment(last, text)
	var places []splice
	for n := len(parent) - 1; n > 1; n-- {
		if i := d.section(parent[:n]); i >= 0 {
			places = append(places, d.after(d.sectionEnd(i), nl+table))
		}
	}
	return append(places, d.atEnd(table))
}

// atEnd adds lines to the text, with a blank line before them.
func (d *tomlDoc) atEnd(lines string) splice {
	nl := newline(d.data)
	end := len(d.data)
	trimmed := strings.TrimRight(string(d.data), " \t\r\n")
	switch {
	case trimmed == "" && end == 0:
		return splice{end, end, lines + nl}
	case d.data[end-1] != '\n':
		return splice{end, end, nl + nl + lines + nl}
	case strings.HasSuffix(string(d.data), nl+nl):
		return splice{end, end, lines + nl}
	}
	return splice{end, end, nl + lines + nl}
}

// intoSection adds a line to a table with a header, after its last key; -1 is the part before the
// first header.
func (d *tomlDoc) intoSection(section int, line string) splice {
	if section < 0 && d.sectionEnd(section) < 0 {
		if len(d.data) == 0 {
			return splice{0, 0, line + newline(d.data)}
		}
		first := d.firstHeader()
		if first < 0 {
			return d.atEnd(line)
		}
		return splice{first, first, line + newline(d.data) + newline(d.data)}
	}
	return d.after(d.sectionEnd(section), line)
}

// after adds lines after the line that contains an offset.
func (d *tomlDoc) after(offset int, lines string) splice {
	nl := newline(d.data)
	end := strings.IndexByte(string(d.data[offset:]), '\n')
	if end < 0 {
		return splice{len(d.data), len(d.data), nl + lines}
	}
	end += offset + 1
	return splice{end, end, lines + nl}
}

// intoInline adds a key to a table in braces.
func (d *tomlDoc) intoInline(table tomlItem, assignment string) splice {
	last := -1
	for _, item := range d.items {
		if item.within == table.value {
			last = max(last, item.end)
		}
	}
	if last < 0 {
		return splice{table.value, table.end, "{ " + assignment + " }"}
	}
	return splice{last, last, ", " + assignment}
}

// removal removes a key and its value: with its whole line, or, in braces, with one of the commas
// beside it.
func removal(data []byte, item tomlItem) splice {
	from, to := item.start, item.end
	if item.within < 0 {
		for from > 0 && data[from-1] != '\n' && !bytes.HasSuffix(data[:from], []byte(byteOrderMark)) {
			from--
		}
		for to < len(data) && data[to-1] != '\n' {
			to++
		}
		return splice{from, to, ""}
	}
	next := to
	for next < len(data) && strings.IndexByte(" \t\r\n", data[next]) >= 0 {
		next++
	}
	if next < len(data) && data[next] == ',' {
		for next++; next < len(data) && (data[next] == ' ' || data[next] == '\t'); {
			next++
		}
		return splice{from, next, ""}
	}
	before := from
	for before > 0 && strings.IndexByte(" \t\r\n", data[before-1]) >= 0 {
		before--
	}
	if before > 0 && data[before-1] == ',' {
		return splice{before - 1, to, ""}
	}
	return splice{from, to, ""}
}

// headerRemoval removes the line of a header, and one blank line before it.
func headerRemoval(data []byte, item tomlItem) splice {
	s := removal(data, item)
	for _, blank := range []string{"\n\n", "\n\r\n"} {
		if bytes.HasSuffix(data[:s.from], []byte(blank)) {
			s.from -= len(blank) - 1
		}
	}
	return s
}

func assignment(path []string, text string) string { return dotted(path) + " = " + text }

func dotted(path []string) string {
	keys := make([]string, len(path))
	for i, key := range path {
		keys[i] = tomlKey(key)
	}
	return strings.Join(keys, ".")
}
