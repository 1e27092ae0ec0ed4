package document

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// maxDepth limits the nesting. JSON schemas that people write stay far below.
const maxDepth = 64

// A Table is a map that is being read. Callers get every key by name; End reports the others.
type Table struct {
	Self      Value
	asked     []string
	elsewhere map[string]string // what to do about a key that belongs into another table
}

// Elsewhere sets the fix for a key that the table does not have, but that people look for here.
func (t *Table) Elsewhere(name, fix string) {
	if t.elsewhere == nil {
		t.elsewhere = make(map[string]string)
	}
	t.elsewhere[name] = fix
}

// Others sets the fix for every unknown key that does not resemble a key that was read.
func (t *Table) Others(fix string) {
	for _, name := range t.Self.Names() {
		if t.elsewhere[name] == "" && nearest.Word(name, t.asked) == "" {
			t.Elsewhere(name, fix)
		}
	}
}

// Value returns the value of a key, of any kind.
func (t *Table) Value(name string) Value {
	if !slices.Contains(t.asked, name) {
		t.asked = append(t.asked, name)
	}
	return t.Self.Get(name)
}

// Bad reports a problem with the value of a key, at the table itself if the key is absent.
func (t *Table) Bad(name, fix, format string, args ...any) {
	t.Self.Get(name).Bad(fix, format, args...)
}

// BadItem reports a problem with one item of a list.
func (t *Table) BadItem(name string, i int, fix, format string, args ...any) {
	t.Self.Get(name).item(i).Bad(fix, format, args...)
}

// Warn reports a warning about the value of a key. The file is still accepted.
func (t *Table) Warn(name, fix, format string, args ...any) {
	t.Self.Get(name).Warn(fix, format, args...)
}

// WarnMisspelt is [Table.Warn] for a value that was probably meant to be another one.
func (t *Table) WarnMisspelt(name, fix, format string, args ...any) {
	t.Warn(name, fix, format, args...)
	t.Self.warnings[len(t.Self.warnings)-1].Misspelt = true
}

// WarnItem reports a warning about one item of a list.
func (t *Table) WarnItem(name string, i int, fix, format string, args ...any) {
	t.Self.Get(name).item(i).Warn(fix, format, args...)
}

// Missing reports a key that is absent or empty. example shows a valid value.
func (t *Table) Missing(name, example string) {
	t.Self.Get(name).missing(example)
}

// End reports every key that was not read.
func (t *Table) End() {
	for v, fix := range t.unknown() {
		v.complain(v.keyAt(), v.path, "unknown key "+v.path, fix)
	}
}

// EndWarning warns about every key that was not read, and reports no problem: a manifest may have
// keys for other tools or later versions.
func (t *Table) EndWarning() {
	for v, fix := range t.unknown() {
		v.WarnKey(fix, "unknown key, ignored")
		t.Self.warnings[len(t.Self.warnings)-1].Misspelt = t.elsewhere[v.key] != "" || nearest.Word(v.key, t.asked) != ""
	}
}

// unknown yields the values that were not read, each with a suggestion.
func (t *Table) unknown() func(yield func(Value, string) bool) {
	return func(yield func(Value, string) bool) {
		for _, name := range t.Self.Names() {
			if !slices.Contains(t.asked, name) && !yield(t.Self.Get(name), cmp.Or(t.elsewhere[name], nearest.Suggest(name, t.asked))) {
				return
			}
		}
	}
}

// Text returns a string, or fallback if it is absent.
func (t *Table) Text(name, fallback string) string {
	if s, ok := t.Value(name).Text(); ok {
		return s
	}
	return fallback
}

// Required returns a string that must be present and not empty.
func (t *Table) Required(name string) string {
	v := t.Value(name)
	s, ok := v.Text()
	if ok && s == "" || !v.Present() {
		t.Missing(name, `"…"`)
	}
	return s
}

// OneOf returns a string that must be one of allowed.
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

// Flag returns a boolean, or nil if it is not set.
func (t *Table) Flag(name string) *bool { return given(t.Value(name).Flag()) }

// Bool returns a boolean, or fallback if it is absent.
func (t *Table) Bool(name string, fallback bool) bool {
	if b, ok := t.Value(name).Flag(); ok {
		return b
	}
	return fallback
}

// Number returns an integer, or nil if it is not set.
func (t *Table) Number(name string) *int { return given(t.Value(name).Whole()) }

func given[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// Duration returns a positive Go duration, or 0 if it is absent.
func (t *Table) Duration(name string) time.Duration {
	const fix = `write a number with its unit, as in "500ms", "5s" or "1m30s"`
	v := t.Value(name)
	if n, ok := v.scalar().(int64); ok { // the most likely mistake gets an exact fix
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

// List returns an array of strings, none of which may be empty. It returns nil if the key is
// absent, which differs from an empty array. An item that is not a string, or empty, is returned as
// "".
func (t *Table) List(name string) []string {
	return Each(t.Value(name), t.Self.word(List)+" of strings", func(item Value) (string, bool) {
		s, ok := item.Text()
		if ok && s == "" {
			item.Bad("take it out, or write something", "must not be empty")
		}
		return s, true
	})
}

// Table returns the table of a key, or an empty one if it is absent.
func (t *Table) Table(name string) *Table {
	v := t.Value(name)
	v.Is(Map, "")
	return &Table{Self: v}
}

// Tables returns an array of tables.
func (t *Table) Tables(name string) []*Table {
	return Each(t.Value(name), "an array of tables, [["+name+"]]", func(item Value) (*Table, bool) { return item.Table("") })
}

// Free returns a table of any shape as JSON values, or nil if it is absent.
func (t *Table) Free(name string) map[string]any {
	v := t.Value(name)
	if !v.Is(Map, "") {
		return nil
	}
	values, err := v.node.asJSON(maxDepth)
	if err != nil {
		v.Bad("write a value that JSON has: plugins get the config as JSON", "%s", err)
		return nil
	}
	return values.(map[string]any)
}

// Plain returns the value as encoding/json would decode it. It returns nil if the value is absent,
// or has no counterpart in JSON.
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

// Has reports whether a key is present, whatever its value.
func (t *Table) Has(name string) bool { return t.Self.Get(name).Present() }

// Names returns the keys of the table, in the order of the file. They count as read, so that End
// reports none of them.
func (t *Table) Names() []string {
	t.asked = append(t.asked, t.Self.Names()...)
	return t.Self.Names()
}

// Err returns all problems of the file, or nil.
func (t *Table) Err() error {
	if len(t.Self.problems) == 0 {
		return nil
	}
	return &Error{Problems: t.Problems()}
}

// Problems returns all problems of the file as a list.
func (t *Table) Problems() []Problem { return inOrder(t.Self.problems) }

// Warnings returns all warnings about the file, in the order of its lines.
func (t *Table) Warnings() []Problem { return inOrder(t.Self.warnings) }

// Position returns the place of the value at a path of keys and indexes, or of the nearest value
// above it. It is zero if the file has neither.
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
