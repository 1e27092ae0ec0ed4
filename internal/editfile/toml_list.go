package editfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Field is a key and its value, given as JSON.
type Field struct {
	Key   string
	Value json.RawMessage
}

// AddTOMLTable returns data with one more table [[name]], after the last of that name, or at the
// end.
func AddTOMLTable(data []byte, name string, fields []Field) ([]byte, error) {
	values, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	nl := newline(data)
	lines := []string{"[[" + tomlKey(name) + "]]"}
	for _, f := range fields {
		text, err := tomlValue(f.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Key, err)
		}
		lines = append(lines, assignment([]string{f.Key}, text))
	}
	table := strings.Join(lines, nl)
	one, err := parseTOML([]byte(table))
	if err != nil {
		return nil, fmt.Errorf("write the table in TOML: %w", err)
	}
	list, isList := values[name].([]any)
	if _, there := values[name]; there && !isList {
		return nil, fmt.Errorf("%s is not a list of tables: %w", name, ErrPath)
	}
	values[name] = append(slices.Clone(list), one[name].([]any)...)
	d := scanTOML(data)
	var places []splice
	if headers := d.listHeaders(name); len(headers) > 0 {
		places = append(places, d.after(d.sectionEnd(headers[len(headers)-1]), nl+table))
	}
	return firstGood(data, append(places, d.atEnd(table)), values, parseTOML)
}

// DropTOMLTables returns data without the tables [[name]] that are unwanted, or data itself if
// there are none. A table is removed from its header to its last key, with the blank line before
// it. Comments before the header stay.
func DropTOMLTables(data []byte, name string, unwanted func(table map[string]any) bool) ([]byte, error) {
	for {
		next, err := dropTOMLTable(data, name, unwanted)
		if err != nil || next == nil {
			return data, err
		}
		data = next
	}
}

// dropTOMLTable removes the first table [[name]] that is unwanted; nil: there is none.
func dropTOMLTable(data []byte, name string, unwanted func(table map[string]any) bool) ([]byte, error) {
	values, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	list, _ := values[name].([]any)
	i := slices.IndexFunc(list, func(v any) bool {
		table, ok := v.(map[string]any)
		return ok && unwanted(table)
	})
	if i < 0 {
		return nil, nil
	}
	if values[name] = slices.Delete(slices.Clone(list), i, i+1); len(list) == 1 {
		delete(values, name)
	}
	d := scanTOML(data)
	headers := d.listHeaders(name)
	if i >= len(headers) {
		return nil, fmt.Errorf("%s: %w", name, ErrPath) // it is a list in brackets
	}
	return firstGood(data, []splice{d.wholeSection(headers[i])}, values, parseTOML)
}

// listHeaders returns the indexes in items of the headers [[name]].
func (d *tomlDoc) listHeaders(name string) []int {
	var headers []int
	for i, item := range d.items {
		if item.header && item.list && slices.Equal(item.at, []string{name}) {
			headers = append(headers, i)
		}
	}
	return headers
}

// wholeSection removes the lines of a section, and a blank line before it.
func (d *tomlDoc) wholeSection(section int) splice {
	s := removal(d.data, tomlItem{start: d.items[section].start, end: d.sectionEnd(section), within: -1})
	blank := newline(d.data)
	before := strings.TrimRight(string(d.data[:s.from]), " \t\r\n")
	switch {
	case before == "" && strings.HasPrefix(string(d.data[s.to:]), blank):
		s.to += len(blank) // there is nothing before it
	case strings.HasSuffix(string(d.data[len(before):s.from]), blank+blank):
		s.from -= len(blank)
	}
	return s
}

// MaskTOML returns data for showing: each value for which hide returns a text is replaced with that
// text. hide is called for values that are not tables. It gets the keys that lead to the value,
// without the indexes of lists, and the value as written. It returns "" for a value that may be
// shown.
func MaskTOML(data []byte, hide func(path []string, value string) string) []byte {
	var out []byte
	done := 0
	for _, item := range scanTOML(data).items {
		if item.header || item.table || item.value < done { // the values of a table have their own keys
			continue
		}
		text := string(data[item.value:item.end])
		if shown := hide(item.at, text); shown != "" {
			out = append(append(out, data[done:item.value]...), shown...)
			done = item.end
		}
	}
	return append(out, data[done:]...)
}
