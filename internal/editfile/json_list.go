package editfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// PutItem returns data with an item in the list at a path of names: in place of the first item that
// ours accepts, or after the last one. It removes other items that ours accepts. If the list
// already has the item, and no other that ours accepts, data stays as it is. A missing list is
// added, with the objects around it.
func PutItem(data []byte, path []string, ours func(item any) bool, item json.RawMessage) ([]byte, error) {
	doc, typed, err := readyJSON(data, path, item)
	if err != nil {
		return nil, err
	}
	data = doc.data
	if !at(doc.values(), path) {
		return doc.addList(path, item)
	}
	list, err := doc.listAt(path)
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(list.items, func(i jsonItem) bool { return ours(i.value.value) })
	if first < 0 {
		return doc.changeList(path, append(slices.Clone(list.value.([]any)), typed), doc.behind(list, doc.laidOut(item, len(path)+1)))
	}
	if old := list.items[first].value; !same(old.value, typed) {
		values := slices.Clone(list.value.([]any))
		values[first] = typed
		data, err = doc.changeList(path, values, splice{old.from, old.to, doc.laidOut(item, len(path)+1)})
		if err != nil {
			return nil, err
		}
	}
	seen := 0
	return DropItems(data, path, func(item any) bool {
		if !ours(item) && !same(item, typed) {
			return false
		}
		seen++
		return seen > 1
	})
}

// DropItems returns data without the items of the list at a path of names that ours accepts. A list
// that becomes empty is removed, and so are the objects around it that become empty, unless they
// have a comment. If there is no such item, data stays as it is.
func DropItems(data []byte, path []string, ours func(item any) bool) ([]byte, error) {
	doc, err := scanJSON(data)
	if err != nil || !at(doc.values(), path) {
		return data, err
	}
	list, err := doc.listAt(path)
	if err != nil {
		return nil, err
	}
	var out []int
	for i, item := range list.items {
		if ours(item.value.value) {
			out = append(out, i)
		}
	}
	switch {
	case len(out) == 0:
		return data, nil
	case len(out) == len(list.items) && !doc.commented(list):
		return dropEmpty(data, path)
	}
	for _, i := range slices.Backward(out) { // from the end, so that the offsets before stay valid
		values := slices.Delete(slices.Clone(list.value.([]any)), i, i+1)
		if data, err = doc.changeList(path, values, doc.without(list, i)); err != nil {
			return nil, err
		}
		if doc, err = scanJSON(data); err != nil {
			return nil, err
		}
		if list, err = doc.listAt(path); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// commented reports whether a list has a comment outside of its items.
func (d *jsonDoc) commented(list *jsonValue) bool {
	at := list.from + 1
	for _, item := range list.items {
		if strings.Contains(string(d.data[at:item.value.from]), "/") {
			return true
		}
		at = item.value.to
	}
	return strings.Contains(string(d.data[at:list.to]), "/")
}

// dropEmpty removes a member, and the objects around it that contain nothing else.
func dropEmpty(data []byte, path []string) ([]byte, error) {
	for n := len(path); n > 0; n-- {
		var err error
		if data, err = RemoveJSON(data, path[:n]); err != nil {
			return nil, err
		}
		doc, err := scanJSON(data)
		if err != nil {
			return nil, err
		}
		if outer := doc.find(path[:n-1]); n > 1 && strings.TrimSpace(string(doc.data[outer.from+1:outer.to-1])) != "" {
			break
		}
	}
	return data, nil
}

// find returns the value at a path that exists.
func (d *jsonDoc) find(path []string) *jsonValue {
	v := &d.root
	for _, name := range path {
		v = v.member(name).value
	}
	return v
}

func (d *jsonDoc) listAt(path []string) (*jsonValue, error) {
	v := d.find(path)
	if _, ok := v.value.([]any); !ok {
		return nil, fmt.Errorf("%s is not a list: %w", strings.Join(path, "."), ErrPath)
	}
	return v, nil
}

// addList writes a list of one item, and the missing objects around it, in the layout of the text.
func (d *jsonDoc) addList(path []string, item json.RawMessage) ([]byte, error) {
	data := d.data
	for n := 1; n < len(path); n++ {
		if at(d.values(), path[:n]) {
			continue
		}
		empty := "{}"
		if d.lines() {
			empty = "{" + newline(data) + strings.Repeat(d.step(), n) + "}"
		}
		var err error
		if data, err = SetJSON(data, path[:n], json.RawMessage(empty)); err != nil {
			return nil, err
		}
		if d, err = scanJSON(data); err != nil {
			return nil, err
		}
	}
	return SetJSON(data, path, json.RawMessage(d.laidOut(json.RawMessage("["+string(item)+"]"), len(path))))
}

// changeList returns the text after a splice. The list at path must then have these values, and
// nothing else may change.
func (d *jsonDoc) changeList(path []string, values []any, s splice) ([]byte, error) {
	want, err := with(d.values(), path, values)
	if err != nil {
		return nil, err
	}
	return firstGood(d.data, []splice{s}, want, parseJSON)
}

// behind adds an item after the last one of a list.
func (d *jsonDoc) behind(list *jsonValue, item string) splice {
	if len(list.items) == 0 {
		inner := strings.TrimRight(string(d.data[list.from+1:list.to-1]), " \t\r\n")
		if inner == "" {
			return splice{list.from, list.to, "[" + item + "]"}
		}
		end, between := list.from+1+len(inner), " " // behind a comment
		if d.endsLine(end) {
			between = newline(d.data) + d.indent(list.from) + d.step()
		}
		return splice{end, end, between + item}
	}
	first, last := list.items[0], list.items[len(list.items)-1]
	between := " "
	if strings.Contains(string(d.data[list.from:first.value.from]), "\n") || d.endsLine(d.lineComments(max(last.value.to, last.comma))) {
		between = newline(d.data) + d.indent(first.value.from)
	}
	return d.after(last.value.to, last.comma, between+item)
}

// without removes an item from a list, and one of the commas beside the item. A comment there
// stays.
func (d *jsonDoc) without(list *jsonValue, i int) splice {
	item, comma := list.items[i].value, list.items[i].comma
	switch {
	case i+1 < len(list.items):
		next := list.items[i+1].value.from
		if strings.Contains(string(d.data[comma:next]), "/") {
			return splice{item.from, comma, ""}
		}
		return splice{item.from, next, ""}
	case i == 0:
		return d.cut(list.from+1, list.from+1, item.from, max(item.to, comma))
	case comma > 0:
		return d.cut(list.items[i-1].comma, list.items[i-1].comma, item.from, comma)
	}
	return d.cut(list.items[i-1].comma-1, list.items[i-1].comma, item.from, item.to)
}

// laidOut returns a value in the layout of the text, at the given depth: on several lines if the
// text has lines.
func (d *jsonDoc) laidOut(value json.RawMessage, depth int) string {
	var b bytes.Buffer
	if !d.lines() || json.Indent(&b, value, strings.Repeat(d.step(), depth), d.step()) != nil {
		return string(value)
	}
	return strings.ReplaceAll(b.String(), "\n", newline(d.data))
}

// lines reports whether the members of the text are on their own lines.
func (d *jsonDoc) lines() bool {
	return strings.Contains(string(d.data[d.root.from:d.root.to]), "\n")
}
