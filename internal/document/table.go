package document

import (
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// maxDepth bounds what may be nested; JSON schemas people write stay far below.
const maxDepth = 64

// A Table is a map being read. Every key is asked for by name; End complains about the rest.
type Table struct {
	Self  Value
	asked []string
}

// Value is what stands under a key, whatever it is.
func (t *Table) Value(name string) Value {
	t.asked = append(t.asked, name)
	return t.Self.Get(name)
}

// Key is the whole path of a key of this table, as one would write it.
func (t *Table) Key(name string) string { return t.Self.join(name) }

// Bad complains about the value of a key, or about the table itself where the key is absent.
func (t *Table) Bad(name, fix, format string, args ...any) {
	t.Self.Get(name).Bad(fix, format, args...)
}

// BadItem complains of one item of a list.
func (t *Table) BadItem(name string, i int, fix, format string, args ...any) {
	t.Self.Get(name).item(i).Bad(fix, format, args...)
}

// Warn notes what is odd about the value of a key, and no reason to refuse the file.
func (t *Table) Warn(name, fix, format string, args ...any) {
	t.Self.Get(name).Warn(fix, format, args...)
}

// WarnItem notes what is odd about one item of a list.
func (t *Table) WarnItem(name string, i int, fix, format string, args ...any) {
	t.Self.Get(name).item(i).Warn(fix, format, args...)
}

// Missing complains of a key that is not there, or empty. The example is what a value looks like.
func (t *Table) Missing(name, example string) {
	t.Self.Get(name).missing(example)
}

// End complains about every key that nobody asked for.
func (t *Table) End() {
	for v, fix := range t.unknown() {
		v.complain(v.keyAt(), v.path, "unknown key "+v.path, fix)
	}
}

// EndWarning does so without refusing the file, for manifests that carry keys of their tools and of
// versions to come.
func (t *Table) EndWarning() {
	for v, fix := range t.unknown() {
		v.WarnKey(fix, "unknown key, ignored")
	}
}

// unknown are the values that nobody asked for, each with what its author may have meant.
func (t *Table) unknown() func(yield func(Value, string) bool) {
	return func(yield func(Value, string) bool) {
		for _, name := range t.Self.Names() {
			if !slices.Contains(t.asked, name) && !yield(t.Self.Get(name), nearest.Suggest(name, t.asked)) {
				return
			}
		}
	}
}

// Text is a string; fallback where it is absent.
func (t *Table) Text(name, fallback string) string {
	if s, ok := t.Value(name).Text(); ok {
		return s
	}
	return fallback
}

// Required is a string that must be there and not be empty.
func (t *Table) Required(name string) string {
	v := t.Value(name)
	s, ok := v.Text()
	if ok && s == "" || !v.Present() {
		t.Missing(name, `"…"`)
	}
	return s
}

// OneOf is a string that must be one of a few.
func OneOf[S ~string](t *Table, name string, fallback S, allowed ...S) S {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	if s, ok := t.Value(name).OneOf(words...); ok {
		return S(s)
	}
	return fallback
}

// Flag is a boolean, nil where it is not set.
func (t *Table) Flag(name string) *bool { return given(t.Value(name).Flag()) }

// Bool is a boolean; fallback where it is absent.
func (t *Table) Bool(name string, fallback bool) bool {
	if b, ok := t.Value(name).Flag(); ok {
		return b
	}
	return fallback
}

// Number is an integer, nil where it is not set.
func (t *Table) Number(name string) *int { return given(t.Value(name).Whole()) }

func given[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// Duration is a positive Go duration; 0 where it is absent.
func (t *Table) Duration(name string) time.Duration {
	const fix = `write a number with its unit, as in "500ms", "5s" or "1m30s"`
	v := t.Value(name)
	if n, ok := v.scalar().(int64); ok { // the likeliest mistake deserves the exact mend
		v.Bad(fmt.Sprintf(`write "%ds" if seconds are meant`, n), "a duration needs a unit")
		return 0
	}
	s, ok := v.Text()
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		v.Bad(fix, "%q is not a duration", Cut(s))
	case d <= 0:
		v.Bad(fix, "%q is not above zero", Cut(s))
	default:
		return d
	}
	return 0
}

func (v Value) scalar() any {
	if v.node == nil {
		return nil
	}
	return v.node.value
}

// List is an array of strings, none empty; nil where it is absent, which differs from an empty one.
// An item that is no string, or empty, is there as "".
func (t *Table) List(name string) []string {
	return Each(t.Value(name), t.Self.word(List)+" of strings", func(item Value) (string, bool) {
		s, ok := item.Text()
		if ok && s == "" {
			item.Bad("take it out, or write something", "must not be empty")
		}
		return s, true
	})
}

// Table is the table under a key; an empty one where it is absent.
func (t *Table) Table(name string) *Table {
	v := t.Value(name)
	v.Is(Map, "")
	return &Table{Self: v}
}

// Tables is an array of tables.
func (t *Table) Tables(name string) []*Table {
	return Each(t.Value(name), "an array of tables, [["+name+"]]", func(item Value) (*Table, bool) { return item.Table("") })
}

// Free is a table of which only its reader knows the shape, as JSON values; nil where it is absent.
func (t *Table) Free(name string) map[string]any {
	v := t.Value(name)
	if !v.Is(Map, "") {
		return nil
	}
	values, err := v.node.asJSON(maxDepth)
	if err != nil {
		v.Bad("plugins are given JSON: write a value that it has", "%s", err)
		return nil
	}
	return values.(map[string]any)
}

// Plain is the value as encoding/json would have it; nil where it is not there, or JSON has no
// counterpart.
func (v Value) Plain() any {
	if v.node == nil {
		return nil
	}
	plain, err := v.node.asJSON(maxDepth)
	if err != nil {
		return nil
	}
	return plain
}

// Has tells whether a key is there, whatever it is.
func (t *Table) Has(name string) bool { return t.Self.Get(name).Present() }

// Names are the keys that are there, in the order of the file. To ask for them all is to know them
// all: none is complained about.
func (t *Table) Names() []string {
	t.asked = append(t.asked, t.Self.Names()...)
	return t.Self.Names()
}

// Err is all that was complained about in the file, nil where nothing was.
func (t *Table) Err() error {
	if len(t.Self.problems) == 0 {
		return nil
	}
	return &Error{Problems: t.Problems()}
}

// Problems are what Err has, as a list.
func (t *Table) Problems() []Problem { return inOrder(t.Self.problems) }

// Warnings are all that was odd about the file, in the order of its lines.
func (t *Table) Warnings() []Problem { return inOrder(t.Self.warnings) }

// Position is where the value at a path of keys and indexes stands, or the nearest table about it;
// zero where even that is not written.
func (t *Table) Position(path ...any) (line, column int) {
	n, at := t.Self.root, Position{}
	for _, part := range path {
		if n = n.step(part); n == nil {
			break
		}
		at = n.at
	}
	return at.Line, at.Column
}
