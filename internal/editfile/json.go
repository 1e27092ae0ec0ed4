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
	if strings.TrimSpace(string(data)) == "" {
		return data, nil
	}
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
	return d.after(last.value.to, last.comma, between+member)
}

// after adds a text after a value, or after the comma behind the value if there is one. Comments
// that follow on the same line stay with the value.
func (d *jsonDoc) after(value, comma int, text string) splice {
	if comma > 0 {
		end := d.lineComments(comma)
		return splice{end, end, text + ","}
	}
	end := d.lineComments(value)
	return splice{value, end, "," + string(d.data[value:end]) + text}
}

// endsLine reports whether only blanks are between an offset and the end of its line.
func (d *jsonDoc) endsLine(offset int) bool {
	line, _, more := strings.Cut(string(d.data[offset:]), "\n")
	return more && strings.TrimSpace(line) == ""
}

// lineComments returns the end of the comments that follow an offset on the same line, or the
// offset itself.
func (d *jsonDoc) lineComments(offset int) int {
	for end := offset; ; {
		rest := string(d.data[end:])
		comment := strings.TrimLeft(rest, " \t")
		size := 0
		switch {
		case strings.HasPrefix(comment, "//"):
			line, _, _ := strings.Cut(comment, "\n")
			return end + len(rest) - len(comment) + len(strings.TrimRight(line, "\r"))
		case strings.HasPrefix(comment, "/*"):
			size = 2 + until([]byte(comment[2:]), "*/")
		}
		if size == 0 || strings.Contains(comment[:size], "\n") {
			return end
		}
		end += len(rest) - len(comment) + size
	}
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
	from, to := m.from, max(m.value.to, m.comma)
	switch {
	case i > 0 && m.comma == 0:
		return d.cut(object.members[i-1].comma-1, object.members[i-1].comma, from, to)
	case i > 0 && d.lineComments(to) == to:
		return d.cut(object.members[i-1].comma, object.members[i-1].comma, from, to)
	}
	line := from
	for line > 0 && (d.data[line-1] == ' ' || d.data[line-1] == '\t') {
		line--
	}
	if line > 0 && d.data[line-1] == '\n' && d.endsLine(to) {
		return splice{line, to + strings.IndexByte(string(d.data[to:]), '\n') + 1, ""}
	}
	return splice{from, to, ""}
}

// cut removes the text from an offset to the end of a value. Comments between gap and the value
// stay.
func (d *jsonDoc) cut(from, gap, value, to int) splice {
	piece := string(d.data[gap:value])
	lineBreak := strings.LastIndexByte(piece, '\n')
	switch {
	case !strings.Contains(piece, "/"):
		piece = ""
	case d.endsLine(to) && lineBreak >= 0 && strings.TrimSpace(piece[lineBreak:]) == "":
		piece = strings.TrimSuffix(piece[:lineBreak], "\r")
	default:
		piece = strings.TrimRight(piece, " \t") // the line of a comment ends with its line break
	}
	return splice{from, to, piece}
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
