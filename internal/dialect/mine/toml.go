package mine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// A manifest is written by hand: kilobytes, and some dozens of keys. The library
// takes time with the square of the keys in a table, so they are counted first.
const (
	mostManifest = 256 << 10
	mostKeys     = 2000
	mostProblems = 100
)

// A reading is one manifest being read: what is wrong with it is collected, not returned.
type reading struct {
	lines    []int           // the offset at which each line starts
	spots    map[string]spot // where each key stands, by its path: hooks[0].stage
	problems []dialect.Problem
	warnings []dialect.Problem
}

// A spot is where a key and its value stand.
type spot struct{ key, value int }

// read turns a file into its top table. Only one syntax error can be reported:
// after it nothing is certain.
func read(data []byte) (*table, *reading) {
	// The library finds positions by comparing capacities.
	data = slices.Clip(bytes.TrimPrefix(data, []byte("\ufeff")))
	r := &reading{lines: []int{0}, spots: make(map[string]spot)}
	for i, c := range data {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	r.locate(data)
	values := make(map[string]any)
	if len(r.spots) > mostKeys {
		r.problems = append(r.problems, dialect.Problem{Message: fmt.Sprintf("over %d keys: not a manifest", mostKeys)})
		return nil, r
	}
	if err := toml.Unmarshal(data, &values); err != nil {
		p := dialect.Problem{Message: strings.TrimPrefix(err.Error(), "toml: ")}
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			p.Line, p.Column = decode.Position()
		}
		r.problems = append(r.problems, p)
		return nil, r
	}
	return &table{reading: r, values: values}, r
}

// locate notes where every key stands, up to the first error in the file.
func (r *reading) locate(data []byte) {
	var parser unstable.Parser
	parser.Reset(data)
	items := make(map[string]int) // how many tables a list of tables has so far
	path := ""
	for parser.NextExpression() && len(r.spots) <= mostKeys {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table:
			path = r.descend("", e.Key(), items)
		case unstable.ArrayTable:
			array := r.descend("", e.Key(), nil)
			path = fmt.Sprintf("%s[%d]", array, items[array])
			items[array]++
			r.spots[path] = r.spots[array]
		case unstable.KeyValue:
			r.keyValue(data, path, e, items)
		}
	}
}

// descend follows a dotted key and notes each step. A step through a list of tables means its last one.
func (r *reading) descend(path string, key unstable.Iterator, items map[string]int) string {
	for key.Next() {
		node := key.Node()
		path = join(path, string(node.Data))
		at := int(node.Raw.Offset)
		r.spots[path] = spot{key: at, value: at}
		if n := items[path]; n > 0 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
		}
	}
	return path
}

func (r *reading) keyValue(data []byte, path string, node *unstable.Node, items map[string]int) {
	var end int
	for key := node.Key(); key.Next(); {
		end = int(key.Node().Raw.Offset + key.Node().Raw.Length)
	}
	path = r.descend(path, node.Key(), items)
	at := r.spots[path]
	at.value = end + len(data[end:]) - len(bytes.TrimLeft(data[end:], " \t="))
	r.spots[path] = at
	r.contents(data, path, node.Value())
}

// contents notes what an array or an inline table holds. It recurses as deep as the parser, which has a limit.
func (r *reading) contents(data []byte, path string, value *unstable.Node) {
	children := value.Children()
	for i := 0; children.Next(); i++ {
		child := children.Node()
		switch value.Kind {
		case unstable.InlineTable:
			r.keyValue(data, path, child, nil)
		case unstable.Array:
			item := fmt.Sprintf("%s[%d]", path, i)
			at := r.spots[path] // the parser does not say where an array or a table within an array starts
			if child.Kind != unstable.Array && child.Kind != unstable.InlineTable {
				at.value = int(child.Raw.Offset)
			}
			r.spots[item] = at
			r.contents(data, item, child)
		}
	}
}

// problem notes what is wrong with the value at a path; where nothing is written there, the table around it is blamed.
func (r *reading) problem(path, fix, format string, args ...any) {
	at, ok := r.nearest(path)
	p := r.at(at.value, ok)
	p.Message, p.Fix = path+": "+fmt.Sprintf(format, args...), fix
	r.problems = append(r.problems, p)
}

func (r *reading) warn(path, fix, format string, args ...any) {
	at, ok := r.nearest(path)
	p := r.at(at.key, ok)
	p.Message, p.Fix = path+": "+fmt.Sprintf(format, args...), fix
	r.warnings = append(r.warnings, p)
}

// nearest is the spot of a path, or of the innermost table around it that is written.
func (r *reading) nearest(path string) (spot, bool) {
	for path != "" {
		if at, ok := r.spots[path]; ok {
			return at, true
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return spot{}, false
}

// at is a problem at an offset; without one it is about the whole file.
func (r *reading) at(offset int, ok bool) dialect.Problem {
	if !ok {
		return dialect.Problem{}
	}
	line := sort.SearchInts(r.lines, offset+1)
	return dialect.Problem{Line: line, Column: offset - r.lines[line-1] + 1}
}

// inOrder sorts problems by where they stand, and cuts the list.
func inOrder(file string, all []dialect.Problem) []dialect.Problem {
	slices.SortStableFunc(all, func(a, b dialect.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(all) - mostProblems; more > 0 {
		all = append(all[:mostProblems], dialect.Problem{Message: fmt.Sprintf("and %d more", more)})
	}
	for i := range all {
		all[i].Path = file
	}
	return all
}

// A table is one TOML table being read. Every key is asked for by name; end warns of the rest.
type table struct {
	*reading
	path   string // "" at the top
	values map[string]any
	asked  []string
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// value is the value of a key as a T; false where it is absent or, after a complaint, not one.
func value[T any](t *table, name, want string) (T, bool) {
	t.asked = append(t.asked, name)
	var zero T
	raw, ok := t.values[name]
	if !ok {
		return zero, false
	}
	v, ok := raw.(T)
	if !ok {
		t.problem(join(t.path, name), "", "must be %s", want)
	}
	return v, ok
}

func (t *table) text(name string) string {
	s, _ := value[string](t, name, "a string")
	return s
}

// required is a string that must be there and not be empty.
func (t *table) required(name string) string {
	s, ok := value[string](t, name, "a string")
	if _, present := t.values[name]; !present || ok && s == "" {
		t.problem(join(t.path, name), fmt.Sprintf("add %s = \"…\"", name), "is required")
	}
	return s
}

// word is a required string that must be one of a few.
func (t *table) word(name string, allowed []string) string {
	s := t.required(name)
	if s == "" || slices.Contains(allowed, s) {
		return s
	}
	t.problem(join(t.path, name), nearest.Suggest(s, allowed), "must be one of %s, got %q", strings.Join(allowed, ", "), cut(s))
	return ""
}

func (t *table) flag(name string) bool {
	b, _ := value[bool](t, name, "true or false")
	return b
}

// texts is an array of strings.
func (t *table) texts(name string) []string {
	raw, _ := value[[]any](t, name, "an array of strings")
	var all []string
	for i, item := range raw {
		s, ok := item.(string)
		if !ok || s == "" {
			t.problem(fmt.Sprintf("%s[%d]", join(t.path, name), i), "", "must be a string that is not empty")
			continue
		}
		all = append(all, s)
	}
	return all
}

// table is the table under a key; an empty one where it is absent.
func (t *table) table(name string) *table {
	values, _ := value[map[string]any](t, name, "a table")
	return &table{reading: t.reading, path: join(t.path, name), values: values}
}

// tables is an array of tables.
func (t *table) tables(name string) []*table {
	raw, _ := value[[]any](t, name, "an array of tables, [["+name+"]]")
	var all []*table
	for i, item := range raw {
		path := fmt.Sprintf("%s[%d]", join(t.path, name), i)
		values, ok := item.(map[string]any)
		if !ok {
			t.problem(path, "", "must be a table")
			continue
		}
		all = append(all, &table{reading: t.reading, path: path, values: values})
	}
	return all
}

// end warns of every key that nobody asked for: manifests carry keys of versions to come, and a plugin is not to be
// refused for them.
func (t *table) end() {
	for name := range t.values {
		if !slices.Contains(t.asked, name) {
			t.warn(join(t.path, name), nearest.Suggest(name, t.asked), "unknown key, passed over")
		}
	}
}
