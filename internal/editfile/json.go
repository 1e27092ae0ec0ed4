package editfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// SetJSON returns data with a value at a path of names. It adds missing objects; an empty text
// counts as an empty object. The text may have comments, and commas before closing brackets.
func SetJSON(data []byte, path []string, value json.RawMessage) ([]byte, error) {
	doc, typed, err := readyJSON(data, path, value)
	if err != nil {
		return nil, err
	}
	want, err := with(doc.values(), path, typed)
	if err != nil {
		return nil, err
	}
	return firstGood(doc.data, []splice{doc.place(path, string(value))}, want, parseJSON)
}

// readyJSON reads a text and a value to set at a path.
func readyJSON(data []byte, path []string, value json.RawMessage) (doc *jsonDoc, typed any, err error) {
	typed, err = decode(value)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the value is not JSON: %w", err)
	case len(path) == 0:
		return nil, nil, errors.New("no path is given")
	}
	if strings.TrimSpace(string(data)) == "" {
		data = []byte("{\n}\n")
	}
	doc, err = scanJSON(data)
	return doc, typed, err
}

// RemoveJSON returns data without the member at a path of names, or data itself if there is none.
func RemoveJSON(data []byte, path []string) ([]byte, error) {
	doc, err := scanJSON(data)
	if err != nil || !at(doc.values(), path) {
		return data, err
	}
	want, err := with(doc.values(), path, absent)
	if err != nil {
		return nil, err
	}
	return firstGood(data, []splice{doc.removal(path)}, want, parseJSON)
}

// ReadJSON reads a file as SetJSON and RemoveJSON do, with comments. An empty text is an empty
// object; numbers stay as written.
func ReadJSON(data []byte) (map[string]any, error) {
	if strings.TrimSpace(string(data)) == "" {
		return map[string]any{}, nil
	}
	return parseJSON(data)
}

func parseJSON(data []byte) (map[string]any, error) {
	doc, err := scanJSON(data)
	if err != nil {
		return nil, err
	}
	return doc.values(), nil
}

// place returns how to write a value at a path: in place of the old one, or as a member of the
// nearest existing object.
func (d *jsonDoc) place(path []string, text string) splice {
	object, n := &d.root, 0
	for n < len(path) {
		m := object.member(path[n])
		if m == nil {
			break
		}
		if n++; n == len(path) {
			return splice{m.value.from, m.value.to, text}
		}
		object = m.value
	}
	for _, name := range slices.Backward(path[n+1:]) {
		text = "{" + jsonString(name) + ": " + text + "}"
	}
	return d.add(object, jsonString(path[n])+": "+text)
}

// add adds a member after the last one of an object, on its own line if the others have theirs.
func (d *jsonDoc) add(o *jsonValue, member string) splice {
	inner := string(d.data[o.from+1 : o.to-1])
	if len(o.members) == 0 {
		if !strings.Contains(inner, "\n") {
			return splice{o.from + 1, o.from + 1, member}
		}
		indent := d.indent(o.to - 1)
		return splice{o.from + 1, o.from + 1, newline(d.data) + indent + d.step() + member}
	}
	last := o.members[len(o.members)-1]
	between := " "
	if strings.Contains(string(d.data[last.value.to:o.to]), "\n") {
		between = newline(d.data) + d.indent(last.from)
	}
	if last.comma > 0 {
		return splice{last.comma, last.comma, between + member + ","}
	}
	return splice{last.value.to, last.value.to, "," + between + member}
}

// removal removes a member, with its line if nothing else is on it, and with one of the commas
// beside it.
func (d *jsonDoc) removal(path []string) splice {
	object := &d.root
	for _, name := range path[:len(path)-1] {
		object = object.member(name).value
	}
	m := object.member(path[len(path)-1])
	i := slices.IndexFunc(object.members, func(other jsonMember) bool { return other.from == m.from })
	from, to := m.from, m.value.to
	switch {
	case m.comma > 0:
		to = m.comma
	case i > 0:
		return splice{object.members[i-1].comma - 1, to, string(d.data[object.members[i-1].comma:m.from][:d.comments(object.members[i-1].comma, m.from)])}
	}
	line := from
	for line > 0 && (d.data[line-1] == ' ' || d.data[line-1] == '\t') {
		line--
	}
	end := to
	for end < len(d.data) && (d.data[end] == ' ' || d.data[end] == '\t' || d.data[end] == '\r') {
		end++
	}
	if line > 0 && d.data[line-1] == '\n' && end < len(d.data) && d.data[end] == '\n' {
		return splice{line, end + 1, ""}
	}
	return splice{from, to, ""}
}

// comments returns how many bytes of a piece of text must stay. The piece has only white space and
// comments. If it has a comment, all of it stays but the blanks at its end; otherwise nothing does.
func (d *jsonDoc) comments(from, to int) int {
	piece := string(d.data[from:to])
	if !strings.Contains(piece, "/") {
		return 0
	}
	return len(strings.TrimRight(piece, " \t")) // the line of a comment ends with its line break
}

// indent returns the white space at the start of the line that contains an offset.
func (d *jsonDoc) indent(offset int) string {
	start := strings.LastIndexByte(string(d.data[:offset]), '\n') + 1
	line := string(d.data[start:offset])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// step returns by how much the text indents: the indent of its first member, or two spaces.
func (d *jsonDoc) step() string {
	if len(d.root.members) > 0 {
		if indent := d.indent(d.root.members[0].from); indent != "" {
			return indent
		}
	}
	return "  "
}

func jsonString(s string) string {
	text, _ := rawjson.Marshal(s) // cannot fail
	return string(text)
}
