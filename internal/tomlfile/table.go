package tomlfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// maxDepth bounds what a plugin's own configuration may nest; JSON schemas people write stay far below.
const maxDepth = 64

// reading is one file being read: what is wrong with it is collected, not returned.
type reading struct {
	file     string
	doc      *document
	problems []Problem
	warnings []Problem // what is odd, and no error
}

// complain notes a problem at an offset of the file.
func (r *reading) complain(offset int, key, message, fix string) {
	line, column := r.doc.position(offset)
	r.problems = append(r.problems, Problem{
		File: r.file, Line: line, Column: column, Key: key, Message: message, Fix: fix,
	})
}

// A Table is one TOML table being read. Every key is asked for by name; end complains about the rest.
type Table struct {
	*reading
	path   string // dotted, for messages; empty at the top
	values map[string]any
	at     *spot
	asked  []string
}

// Key is the whole path of a key of this table, as one would write it.
func (t *Table) Key(name string) string {
	if t.path == "" {
		return QuoteKey(name)
	}
	return t.path + "." + QuoteKey(name)
}

// Bad complains about the value of a key, or about the table itself where the key is absent.
func (t *Table) Bad(name, fix, format string, args ...any) {
	t.complain(t.spot(name).value, t.Key(name), t.Key(name)+": "+fmt.Sprintf(format, args...), fix)
}

// Warn notes what is odd about the value of a key, and no reason to refuse the file.
func (t *Table) Warn(name, fix, format string, args ...any) {
	t.warn(t.spot(name), t.Key(name), fix, fmt.Sprintf(format, args...))
}

// WarnItem notes what is odd about one item of a list.
func (t *Table) WarnItem(name string, i int, fix, format string, args ...any) {
	t.warn(t.spot(name, i), fmt.Sprintf("%s[%d]", t.Key(name), i), fix, fmt.Sprintf(format, args...))
}

func (t *Table) warn(at *spot, key, fix, message string) {
	line, column := t.doc.position(at.value)
	t.warnings = append(t.warnings, Problem{File: t.file, Line: line, Column: column, Key: key, Message: key + ": " + message, Fix: fix})
}

// Warnings are all that was odd about the file, in the order of its lines.
func (t *Table) Warnings() []Problem {
	slices.SortStableFunc(t.warnings, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return t.warnings
}

// spot is where a key stands; the table itself where the key is absent.
func (t *Table) spot(path ...any) *spot {
	s := t.at
	for _, part := range path {
		next := s.step(part)
		if next == nil {
			break
		}
		s = next
	}
	return s
}

// End complains about every key that nobody asked for.
func (t *Table) End() {
	for name := range t.values {
		if slices.Contains(t.asked, name) {
			continue
		}
		key := t.Key(name)
		t.complain(t.spot(name).key, key, fmt.Sprintf("unknown key %s", key), nearest.Suggest(name, t.asked))
	}
}

// value is the value of a key as a T; false where it is absent or, after a complaint, not one.
func value[T any](t *Table, name string) (T, bool) {
	t.asked = append(t.asked, name)
	var zero T
	raw, ok := t.values[name]
	if !ok {
		return zero, false
	}
	v, ok := raw.(T)
	if !ok {
		t.BadKind(name, zero, raw)
	}
	return v, ok
}

// Text is a string; fallback where it is absent.
func (t *Table) Text(name, fallback string) string {
	if s, ok := value[string](t, name); ok {
		return s
	}
	return fallback
}

// Required is a string that must be there and not be empty.
func (t *Table) Required(name string) string {
	s, ok := value[string](t, name)
	_, present := t.values[name]
	if (ok && s == "") || !present {
		t.Missing(name, `"…"`)
	}
	return s
}

// OneOf is a string that must be one of a few.
func OneOf[S ~string](t *Table, name string, fallback S, allowed ...S) S {
	s, ok := value[string](t, name)
	if !ok {
		return fallback
	}
	if slices.Contains(allowed, S(s)) {
		return S(s)
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	fix := "write one of them"
	if near := nearest.Word(s, words); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	t.Bad(name, fix, "%q is not one of %s", Cut(s), strings.Join(words, ", "))
	return fallback
}

// Flag is a boolean, nil where it is not set.
func (t *Table) Flag(name string) *bool {
	if b, ok := value[bool](t, name); ok {
		return &b
	}
	return nil
}

// Number is an integer, nil where it is not set.
func (t *Table) Number(name string) *int {
	n, ok := value[int64](t, name)
	if !ok {
		return nil
	}
	if n != int64(int(n)) { // where int has 32 bits
		t.Bad(name, "write a smaller number", "%d is out of range", n)
		return nil
	}
	small := int(n)
	return &small
}

// Duration is a positive Go duration; 0 where it is absent.
func (t *Table) Duration(name string) time.Duration {
	const fix = `write a number with its unit, as in "500ms", "5s" or "1m30s"`
	if n, ok := t.values[name].(int64); ok { // the likeliest mistake deserves the exact mend
		t.asked = append(t.asked, name)
		t.Bad(name, fmt.Sprintf(`write "%ds" if seconds are meant`, n), "a duration needs a unit")
		return 0
	}
	s, ok := value[string](t, name)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		t.Bad(name, fix, "%q is not a duration", Cut(s))
	case d <= 0:
		t.Bad(name, fix, "%q is not above zero", Cut(s))
	default:
		return d
	}
	return 0
}

// List is an array of strings, none empty; nil where it is absent, which differs from an empty one.
func (t *Table) List(name string) []string {
	raw, ok := value[[]any](t, name)
	if !ok {
		return nil
	}
	list := make([]string, 0, len(raw))
	for i, item := range raw {
		s, ok := item.(string)
		switch {
		case !ok:
			t.BadItemKind(name, i, "", item)
		case s == "":
			t.BadItem(name, i, "take it out, or write something", "must not be empty")
		}
		list = append(list, s)
	}
	return list
}

// BadItem complains of one item of a list.
func (t *Table) BadItem(name string, i int, fix, format string, args ...any) {
	key := fmt.Sprintf("%s[%d]", t.Key(name), i)
	t.complain(t.spot(name, i).value, key, key+": "+fmt.Sprintf(format, args...), fix)
}

// BadKind complains of a value that is of another kind than it must be.
func (t *Table) BadKind(name string, want, got any) {
	t.Bad(name, asKind(want, got), "want %s, got %s", Kind(want), Kind(got))
}

// BadItemKind complains of an item of a list that is of another kind than it must be.
func (t *Table) BadItemKind(name string, i int, want, got any) {
	t.BadItem(name, i, asKind(want, got), "want %s, got %s", Kind(want), Kind(got))
}

// Missing complains of a key that is not there, or empty. The example is what a value looks like.
func (t *Table) Missing(name, example string) {
	t.Bad(name, fmt.Sprintf("write %s = %s", QuoteKey(name), example), "must be given")
}

// asKind says how to write a value so that it has the kind of want. It does not repeat the value, which may be a secret.
func asKind(want, got any) string {
	_, quoted := got.(string)
	switch want.(type) {
	case string:
		return `put it into quotes: "…"`
	case bool, int64:
		if quoted {
			return "leave out the quotes"
		}
		if _, fraction := got.(float64); fraction {
			return "leave out the fraction"
		}
	case []any:
		return "put it into brackets: […]"
	case map[string]any:
		return "put it into braces, with a key before each value: { KEY = … }"
	}
	return "write " + Kind(want)
}

// Table is the table under a key; an empty one where it is absent.
func (t *Table) Table(name string) *Table {
	values, _ := value[map[string]any](t, name)
	return &Table{reading: t.reading, path: t.Key(name), values: values, at: t.spot(name)}
}

// Tables is an array of tables.
func (t *Table) Tables(name string) []*Table {
	raw, ok := value[[]any](t, name)
	if !ok {
		return nil
	}
	tables := make([]*Table, 0, len(raw))
	for i, item := range raw {
		values, ok := item.(map[string]any)
		if !ok {
			t.BadItemKind(name, i, values, item)
			continue
		}
		tables = append(tables, &Table{
			reading: t.reading, path: fmt.Sprintf("%s[%d]", t.Key(name), i),
			values: values, at: t.spot(name, i),
		})
	}
	return tables
}

// Free is a table of which only its reader knows the shape, as JSON values; nil where it is absent.
func (t *Table) Free(name string) map[string]any {
	raw, ok := value[map[string]any](t, name)
	if !ok {
		return nil
	}
	v, err := toJSON(raw, maxDepth)
	if err != nil {
		t.Bad(name, "plugins are given JSON: write a value that it has", "%s", err)
		return nil
	}
	return v.(map[string]any)
}

// toJSON turns what TOML has beyond JSON into strings, and refuses what has no counterpart.
func toJSON(v any, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			converted, err := toJSON(field, depth-1)
			if err != nil {
				return nil, err
			}
			out[name] = converted
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			converted, err := toJSON(item, depth-1)
			if err != nil {
				return nil, err
			}
			out[i] = converted
		}
		return out, nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, fmt.Errorf("%v has no counterpart in JSON", v)
		}
		return v, nil
	case string, bool, int64:
		return v, nil
	default:
		return timeText(v), nil
	}
}

// timeText is a TOML date or time as RFC 3339 text.
func timeText(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case fmt.Stringer: // toml.LocalDate, LocalTime, LocalDateTime
		return v.String()
	}
	return fmt.Sprint(v)
}

// Kind names a value's type as the TOML documentation does.
func Kind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	case time.Time, toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		return "a date or time"
	}
	return fmt.Sprintf("%T", v)
}

// Has tells whether a key is there, whatever it is.
func (t *Table) Has(name string) bool {
	_, ok := t.values[name]
	return ok
}

// Names are the keys that are there, in no order. To ask for them all is to know them all: none is complained about.
func (t *Table) Names() []string {
	names := make([]string, 0, len(t.values))
	for name := range t.values {
		names = append(names, name)
	}
	t.asked = append(t.asked, names...)
	return names
}

// Raw is a value as the file has it.
func (t *Table) Raw(name string) any {
	t.asked = append(t.asked, name)
	return t.values[name]
}

// Path is where the table is in the file, dotted, as in connect[0]; empty at the top.
func (t *Table) Path() string { return t.path }

// BadTable complains about the table itself.
func (t *Table) BadTable(fix, format string, args ...any) {
	t.complain(t.at.value, t.path, t.path+": "+fmt.Sprintf(format, args...), fix)
}

// Err is all that was complained about in the file, nil where nothing was.
func (t *Table) Err() error { return asError(t.problems) }

// Position is where the value at a path of keys and indexes stands, or the nearest table about it; zero where even that is
// not written.
func (t *Table) Position(path ...any) (line, column int) { return t.doc.find(path...) }
