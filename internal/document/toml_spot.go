package document

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A spot is the place of one value. The spots of a file form the same tree as its values.
type spot struct {
	key    int // offset of the key, or of the name in a table's header
	value  int // offset of the value; for tables with a header, offset of the key
	fields map[string]*spot
	items  []*spot
}

// locate builds the tree of spots for data, up to the first error in it, and counts the keys.
func locate(data []byte) (root *spot, keys int) {
	var parser unstable.Parser
	parser.Reset(data)
	root = &spot{}
	table := root
	for parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table:
			table = root.descend(e.Key())
		case unstable.ArrayTable:
			list := root.descend(e.Key())
			table = &spot{key: list.key, value: list.key}
			list.items = append(list.items, table)
		case unstable.KeyValue:
			table.keyValue(data, e)
		}
	}
	return root, root.size()
}

// size counts the keys at and below s.
func (s *spot) size() int {
	n := len(s.fields)
	for _, field := range s.fields {
		n += field.size()
	}
	for _, item := range s.items {
		n += item.size()
	}
	return n
}

// descend follows a dotted key and adds spots that are missing. A step through a list of tables
// leads into its last table.
func (s *spot) descend(key unstable.Iterator) *spot {
	for key.Next() {
		if n := len(s.items); n > 0 {
			s = s.items[n-1]
		}
		s = s.field(key.Node())
	}
	return s
}

func (s *spot) field(key *unstable.Node) *spot {
	next := s.fields[string(key.Data)]
	if next == nil {
		next = &spot{}
		if s.fields == nil {
			s.fields = make(map[string]*spot)
		}
		s.fields[string(key.Data)] = next
	}
	// The last mention counts: [[connect]] names its list once for each item.
	next.key = int(key.Raw.Offset)
	next.value = next.key
	return next
}

func (s *spot) keyValue(data []byte, node *unstable.Node) {
	var end int
	for key := node.Key(); key.Next(); {
		end = int(key.Node().Raw.Offset + key.Node().Raw.Length)
	}
	leaf := s.descend(node.Key())
	leaf.value = end + valueStart(data[end:])
	leaf.contents(data, node.Value())
}

// contents adds what an array or an inline table holds. Its recursion is as deep as the parser's,
// which is limited.
func (s *spot) contents(data []byte, value *unstable.Node) {
	children := value.Children()
	switch value.Kind {
	case unstable.InlineTable:
		for children.Next() {
			s.keyValue(data, children.Node())
		}
	case unstable.Array:
		for children.Next() {
			child := children.Node()
			item := &spot{key: s.value, value: s.value} // the parser does not report where an inner array starts
			if child.Kind != unstable.Array {
				item.value = int(child.Raw.Offset)
			}
			item.contents(data, child)
			s.items = append(s.items, item)
		}
	}
}

// valueStart returns the distance from the end of a key to its value: the equals sign and the white
// space around it.
func valueStart(rest []byte) int {
	return len(rest) - len(bytes.TrimLeft(rest, " \t="))
}

func lineStarts(data []byte) []int {
	lines := []int{0}
	for i, c := range data {
		if c == '\n' {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// with returns the tree of values, each with the place of its spot.
func (s *spot) with(v any, lines []int) *node {
	key, at := place(lines, s.key), place(lines, s.value)
	switch v := v.(type) {
	case map[string]any:
		n := &node{kind: Map, key: key, at: at}
		for _, name := range s.inOrder(v) {
			n.add(name, s.below(s.fields[name]).with(v[name], lines))
		}
		return n
	case []any:
		n := &node{kind: List, key: key, at: at}
		for i, item := range v {
			var found *spot
			if i < len(s.items) {
				found = s.items[i]
			}
			n.items = append(n.items, s.below(found).with(item, lines))
		}
		return n
	}
	return scalar(v, key, at)
}

// below returns the spot of a value in s, or that of s itself if the parser reported none.
func (s *spot) below(found *spot) *spot {
	if found == nil {
		return &spot{key: s.key, value: s.value}
	}
	return found
}

// inOrder returns the keys of a table in the order of the file.
func (s *spot) inOrder(table map[string]any) []string {
	return slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.below(s.fields[a]).key, s.below(s.fields[b]).key), strings.Compare(a, b))
	})
}

func place(lines []int, offset int) Position {
	line := sort.SearchInts(lines, offset+1)
	return Position{line, offset - lines[line-1] + 1}
}
