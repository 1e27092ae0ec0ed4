package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A reading is one file being read: what is wrong with it is collected, not returned.
type reading struct {
	file     string
	format   format
	root     *node
	problems []Problem
	warnings []Problem // what is odd, and no error
}

func (r *reading) top() *Table {
	return &Table{Self: Value{reading: r, node: r.root, at: r.root.at}}
}

func (r *reading) complain(at Position, key, message, fix string) {
	r.problems = append(r.problems, Problem{File: r.file, Line: at.Line, Column: at.Column, Key: key, Message: message, Fix: fix})
}

func (r *reading) warn(at Position, key, message, fix string) {
	r.warnings = append(r.warnings, Problem{File: r.file, Line: at.Line, Column: at.Column, Key: key, Message: message, Fix: fix})
}

// A Value is what stands under a key or at a place of a list, or that nothing does.
type Value struct {
	*reading
	key  string   // its own, as one would write it
	path string   // the same with those above it, as in connect[0].point; empty at the top
	node *node    // nil: the file does not have it
	at   Position // of the value; of what it is missing from
}

// Path is where the value is in the file, as in connect[0].point; empty at the top.
func (v Value) Path() string { return v.path }

// Position is where the value stands; where it is missing, what it is missing from.
func (v Value) Position() Position { return v.at }

// Present tells whether the file has the value.
func (v Value) Present() bool { return v.node != nil }

// Kind is what the value is; Null where it is not there.
func (v Value) Kind() Kind {
	if v.node == nil {
		return Null
	}
	return v.node.kind
}

// Len is how many items or fields a list or map has.
func (v Value) Len() int {
	if v.node == nil {
		return 0
	}
	return len(v.node.items) + len(v.node.names)
}

// Get is a field of a map.
func (v Value) Get(name string) Value {
	child := v.child(v.join(name), v.step(name))
	child.key = QuoteKey(name)
	return child
}

// Items are those of a list.
func (v Value) Items() []Value {
	if v.node == nil {
		return nil
	}
	items := make([]Value, len(v.node.items))
	for i, item := range v.node.items {
		items[i] = v.child(itemPath(v.path, i), item)
	}
	return items
}

// Names are the keys of a map, in the order of the file.
func (v Value) Names() []string {
	if v.node == nil {
		return nil
	}
	return v.node.names
}

func (v Value) item(i int) Value { return v.child(itemPath(v.path, i), v.step(i)) }

func (v Value) step(part any) *node {
	if v.node == nil {
		return nil
	}
	return v.node.step(part)
}

func (v Value) child(path string, n *node) Value {
	child := Value{reading: v.reading, path: path, node: n, at: v.at}
	if n != nil {
		child.at = n.at
	}
	return child
}

// join is the whole path of a key, as one would write it.
func (v Value) join(name string) string {
	switch {
	case v.format == yamlFormat:
		return schema.FieldPath(v.path, name)
	case v.path == "":
		return QuoteKey(name)
	}
	return v.path + "." + QuoteKey(name)
}

func itemPath(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// Bad complains about the value, or about what it is missing from.
func (v Value) Bad(fix, format string, args ...any) {
	v.complain(v.at, v.path, v.says(format, args...), fix)
}

// BadKey complains about the value's key.
func (v Value) BadKey(fix, format string, args ...any) {
	v.complain(v.keyAt(), v.path, v.says(format, args...), fix)
}

// Warn notes what is odd about the value, and no reason to refuse the file.
func (v Value) Warn(fix, format string, args ...any) {
	v.warn(v.at, v.path, v.says(format, args...), fix)
}

// WarnKey notes what is odd about the value's key.
func (v Value) WarnKey(fix, format string, args ...any) {
	v.warn(v.keyAt(), v.path, v.says(format, args...), fix)
}

func (v Value) keyAt() Position {
	if v.node == nil {
		return v.at
	}
	return v.node.key
}

func (v Value) says(format string, args ...any) string {
	message := fmt.Sprintf(format, args...)
	if v.path == "" {
		return message
	}
	return v.path + ": " + message
}

// Required complains where the value is not there.
func (v Value) Required() bool {
	if !v.Present() {
		v.missing("…")
	}
	return v.Present()
}

// missing complains of a value that is not there, or empty. The example is what it looks like.
func (v Value) missing(example string) {
	sign := [...]string{tomlFormat: " = ", yamlFormat: ": "}[v.format]
	v.Bad("write "+v.key+sign+example, "is required")
}

// Is complains of a value of another kind; want names the right one where that needs more words. It
// is false, without a complaint, where the value is not there.
func (v Value) Is(kind Kind, want string) bool {
	if v.node == nil || v.node.kind == kind {
		return v.node != nil
	}
	if want == "" {
		want = v.word(kind)
	}
	v.BadKind(asKind(kind, v.node, v.format), want)
	return false
}

// word is what the author of the file calls a kind.
func (v Value) word(kind Kind) string { return kindNames[v.format][kind] }

// BadKind complains of a value that is not what it must be.
func (v Value) BadKind(fix, want string) {
	v.Bad(fix, "must be %s, got %s", want, v.node.name(v.format))
}

// asKind says how to write a value so that it has another kind. It does not repeat the value, which
// may be a secret.
func asKind(want Kind, got *node, f format) string {
	plain := got.kind == Bool || got.kind == Number || got.kind == Time
	switch {
	case want == String && plain:
		return `put it into quotes: "…"`
	case got.kind == String && scalar(plainScalar(got.value.(string)), got.key, got.at).kind == want:
		return "leave out the quotes"
	case want == List && (plain || got.kind == String):
		return "put it into brackets: […]"
	case want == Map:
		return "put a key before each value: " + [...]string{tomlFormat: "{ KEY = … }", yamlFormat: "{ KEY: … }"}[f]
	}
	return "write " + kindNames[f][want]
}

// Text is a string.
func (v Value) Text() (string, bool) {
	if !v.Is(String, "") {
		return "", false
	}
	return v.node.value.(string), true
}

// Says tells whether the value is a certain string. It never complains.
func (v Value) Says(text string) bool { return v.Kind() == String && v.node.value == text }

// Filled is a string that must not be empty.
func (v Value) Filled() (string, bool) {
	s, ok := v.Text()
	if ok && s == "" {
		v.Bad("write something", "must not be empty")
		return "", false
	}
	return s, ok
}

// Flag is true or false.
func (v Value) Flag() (flag, ok bool) {
	if !v.Is(Bool, "true or false") {
		return false, false
	}
	return v.node.value.(bool), true
}

// Whole is a whole number. In YAML 5.0 is one too, as it is in JSON Schema.
func (v Value) Whole() (int, bool) {
	const want = "a whole number"
	if !v.Is(Number, want) {
		return 0, false
	}
	switch n := v.node.value.(type) {
	case int64:
		if n == int64(int(n)) {
			return int(n), true
		}
		v.Bad("write a smaller number", "%d is out of range", n) // where int has 32 bits
	case float64:
		v.BadKind("leave out the fraction", want)
	case digits:
		if n, ok := wholeDigits(string(n)); ok {
			return n, true
		}
		v.Bad("", "must be %s, got %s", want, schema.Cite(string(n)))
	}
	return 0, false
}

func wholeDigits(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// Within is a whole number from one to another.
func (v Value) Within(low, high int) (int, bool) {
	n, ok := v.Whole()
	if ok && (n < low || n > high) {
		v.Bad(fmt.Sprintf("write a number from %d to %d", low, high), "%d is out of range", n)
		return 0, false
	}
	return n, ok
}

// OneOf is a string that must be one of a few.
func (v Value) OneOf(words ...string) (string, bool) {
	s, ok := v.Text()
	if !ok || slices.Contains(words, s) {
		return s, ok
	}
	fix := "write one of them"
	if near := nearest.Word(s, words); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	v.Bad(fix, "must be one of %s, got %q", strings.Join(words, ", "), Cut(s))
	return "", false
}

// Each is a list, each item as read says; nil where it is absent or no list, which differs from an
// empty one. want names such a list.
func Each[T any](v Value, want string, read func(Value) (T, bool)) []T {
	if !v.Is(List, want) {
		return nil
	}
	out := make([]T, 0, v.Len())
	for _, item := range v.Items() {
		if t, ok := read(item); ok {
			out = append(out, t)
		}
	}
	return out
}

// Table is a map whose keys are asked for by name; false where it is none.
func (v Value) Table(want string) (*Table, bool) {
	return &Table{Self: v}, v.Is(Map, want)
}

// JSON is the value as compact JSON: keys in the order of the file, numbers digit by digit as they
// stand there. It is nil where the value is not there.
func (v Value) JSON() []byte {
	if v.node == nil {
		return nil
	}
	return v.node.appendJSON(nil)
}

// Below follows a path of keys and indexes down, as far as it leads.
func (v Value) Below(path []string) Value {
	for _, step := range path {
		next := v.Get(step)
		if i, err := strconv.Atoi(step); err == nil && v.Kind() == List {
			next = v.item(i)
		}
		if !next.Present() {
			break
		}
		v = next
	}
	return v
}
