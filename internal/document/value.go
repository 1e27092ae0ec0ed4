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

// A reading is one file that is being read. It collects the problems.
type reading struct {
	file     string
	format   format
	root     *node
	problems []Problem
	warnings []Problem // warnings; the file is still accepted
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

// A Value is the value of a key or of an item of a list. It may be absent.
type Value struct {
	*reading
	key  string   // its own key, as in the file
	path string   // the key with those above it, as in connect[0].point; empty at the top
	node *node    // nil: the value is absent
	at   Position // of the value, or of the table that it is missing from
}

// Path returns the path of the value in the file, as in connect[0].point; empty at the top.
func (v Value) Path() string { return v.path }

// Position returns the place of the value, or of the table that it is missing from.
func (v Value) Position() Position { return v.at }

// Present reports whether the file has the value.
func (v Value) Present() bool { return v.node != nil }

// Kind returns the kind of the value, or Null if it is absent.
func (v Value) Kind() Kind {
	if v.node == nil {
		return Null
	}
	return v.node.kind
}

// Len returns the number of items or fields of a list or map.
func (v Value) Len() int {
	if v.node == nil {
		return 0
	}
	return len(v.node.items) + len(v.node.names)
}

// Get returns a field of a map.
func (v Value) Get(name string) Value {
	child := v.child(v.join(name), v.step(name))
	child.key = QuoteKey(name)
	return child
}

// Items returns the items of a list.
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

// Names returns the keys of a map, in the order of the file.
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

// join returns the whole path of a key, as the format writes it.
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

// Bad reports a problem with the value, or with the table that it is missing from.
func (v Value) Bad(fix, format string, args ...any) {
	v.complain(v.at, v.path, v.says(format, args...), fix)
}

// BadKey reports a problem with the value's key.
func (v Value) BadKey(fix, format string, args ...any) {
	v.complain(v.keyAt(), v.path, v.says(format, args...), fix)
}

// Warn reports a warning about the value. The file is still accepted.
func (v Value) Warn(fix, format string, args ...any) {
	v.warn(v.at, v.path, v.says(format, args...), fix)
}

// WarnKey reports a warning about the value's key.
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

// Required reports a problem if the value is absent.
func (v Value) Required() bool {
	if !v.Present() {
		v.missing("…")
	}
	return v.Present()
}

// missing reports a value that is absent or empty. example shows a valid one.
func (v Value) missing(example string) {
	sign := [...]string{tomlFormat: " = ", yamlFormat: ": "}[v.format]
	v.Bad("write "+v.key+sign+example, "is required")
}

// Is reports whether the value has a kind, and reports a problem if it has another. want names the
// kind, if the usual word is not enough. For an absent value it returns false without a problem.
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

// word returns the format's word for a kind.
func (v Value) word(kind Kind) string { return kindNames[v.format][kind] }

// BadKind reports a value of the wrong kind.
func (v Value) BadKind(fix, want string) {
	v.Bad(fix, "must be %s, got %s", want, v.node.name(v.format))
}

// asKind returns how to write a value so that it has another kind. It does not repeat the value,
// which may be a secret.
func asKind(want Kind, got *node, f format) string {
	plain := got.kind == Bool || got.kind == Number || got.kind == Time
	switch {
	case want == String && plain:
		return `put it into quotes: "…"`
	case got.kind == String && scalar(plainScalar(got.value.(string)), got.key, got.at).kind == want:
		return "leave out the quotes"
	case want == List && got.kind == Bool: // in brackets it would be as wrong
		return `write the items in brackets: ["…"]`
	case want == List && (plain || got.kind == String):
		return "put it into brackets: […]"
	case want == Map:
		return "put a key before each value: " + [...]string{tomlFormat: "{ KEY = … }", yamlFormat: "{ KEY: … }"}[f]
	}
	return "write " + kindNames[f][want]
}

// Text returns a string.
func (v Value) Text() (string, bool) {
	if !v.Is(String, "") {
		return "", false
	}
	return v.node.value.(string), true
}

// Words returns a string, or any other scalar of YAML as it is written in the file: 007 is "007".
// It returns "" without a problem for null, and for an absent value.
func (v Value) Words() string {
	switch v.Kind() {
	case Null:
		return ""
	case Bool, Number:
		if v.node.plain != "" {
			return v.node.plain
		}
	}
	s, _ := v.Text()
	return s
}

// Says reports whether the value is a certain string. It never reports a problem.
func (v Value) Says(text string) bool { return v.Kind() == String && v.node.value == text }

// Filled returns a string that must not be empty.
func (v Value) Filled() (string, bool) {
	s, ok := v.Text()
	if ok && s == "" {
		v.Bad("write something", "must not be empty")
		return "", false
	}
	return s, ok
}

// Flag returns true or false.
func (v Value) Flag() (flag, ok bool) {
	if !v.Is(Bool, "true or false") {
		return false, false
	}
	return v.node.value.(bool), true
}

// Whole returns a whole number. In YAML 5.0 is one too, as in JSON Schema.
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
		v.Bad("write a smaller number", "%d is out of range", n) // if int has 32 bits
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

// Within returns a whole number from low to high.
func (v Value) Within(low, high int) (int, bool) {
	n, ok := v.Whole()
	if ok && (n < low || n > high) {
		v.Bad(fmt.Sprintf("write a number from %d to %d", low, high), "%d is out of range", n)
		return 0, false
	}
	return n, ok
}

// OneOf returns a string that must be one of words.
func (v Value) OneOf(words ...string) (string, bool) {
	s, ok := v.Text()
	if !ok || slices.Contains(words, s) {
		return s, ok
	}
	if len(words) == 1 {
		v.Bad(fmt.Sprintf("write %q, or leave it out", words[0]), "must be %q, got %q", words[0], Cut(s))
		return "", false
	}
	fix := "write one of them"
	if near := nearest.Word(s, words); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	v.Bad(fix, "must be one of %s, got %q", strings.Join(words, ", "), Cut(s))
	return "", false
}

// Each returns a list, with each item read by read. It returns nil if the value is absent or not a
// list, which differs from an empty list. want names such a list.
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

// Table returns a map whose keys are read by name. It returns false if the value is not a map.
func (v Value) Table(want string) (*Table, bool) {
	return &Table{Self: v}, v.Is(Map, want)
}

// JSON returns the value as compact JSON, with keys in the order of the file and numbers with the
// digits of the file. It returns nil if the value is absent.
func (v Value) JSON() []byte {
	if v.node == nil {
		return nil
	}
	return v.node.appendJSON(nil)
}

// Below follows a path of keys and indexes as far as it leads.
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
