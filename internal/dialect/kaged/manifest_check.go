package kaged

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A checker collects what is wrong with one manifest while it fills it in.
type checker struct {
	m        *Manifest
	problems []Problem
}

// An entry is a value of the manifest and the name it goes by in a report.
type entry struct {
	field string
	at    position  // of the value; of the mapping it is missing from
	node  *yamlNode // nil where the manifest does not have it
}

func (e entry) present() bool { return e.node != nil }

// get returns the named field of a mapping, which may not be there.
func (e entry) get(name string) entry {
	path := schema.FieldPath(e.field, name)
	if f := e.node.field(name); f != nil {
		return entry{path, f.value.at, f.value}
	}
	return entry{field: path, at: e.at}
}

// list returns the entries of a list.
func (e entry) list() []entry {
	var out []entry
	for i, item := range e.node.items {
		out = append(out, entry{itemPath(e.field, i), item.at, item})
	}
	return out
}

func (c *checker) problemAt(at position, field, format string, args ...any) {
	c.problems = append(c.problems, Problem{field, at.line, at.column, fmt.Sprintf(format, args...)})
}

func (c *checker) problem(e entry, format string, args ...any) {
	c.problemAt(e.at, e.field, format, args...)
}

func (c *checker) warn(e entry, format string, args ...any) {
	c.m.Warnings = append(c.m.Warnings, Problem{e.field, e.at.line, e.at.column, fmt.Sprintf(format, args...)})
}

// required reports a field that must be there and is not.
func (c *checker) required(e entry) bool {
	if !e.present() {
		c.problem(e, "is required")
	}
	return e.present()
}

// is reports a value of the wrong type; want names the right one in full. It is
// false, without a report, where the field is not there.
func (c *checker) is(e entry, kind yamlKind, want string) bool {
	if !e.present() || e.node.kind == kind {
		return e.present()
	}
	hint := ""
	if kind == kindString && (e.node.kind == kindNumber || e.node.kind == kindBool) {
		hint = "; " + putInQuotes
	}
	c.problem(e, "must be %s, got %s%s", want, e.node.kind, hint)
	return false
}

// text reads a string.
func (c *checker) text(e entry) (string, bool) {
	if !c.is(e, kindString, "a string") {
		return "", false
	}
	return e.node.text, true
}

// filled reads a string that must not be empty.
func (c *checker) filled(e entry) (string, bool) {
	s, ok := c.text(e)
	if ok && s == "" {
		c.problem(e, "must not be empty")
		return "", false
	}
	return s, ok
}

// argument reads a string that goes to the operating system, which ends strings
// at a NUL.
func (c *checker) argument(e entry) (string, bool) {
	s, ok := c.text(e)
	if ok && strings.ContainsRune(s, 0) {
		c.problem(e, "must not contain a NUL character")
		return "", false
	}
	return s, ok
}

// texts reads a list of strings, each as read says.
func (c *checker) texts(e entry, read func(entry) (string, bool)) []string {
	if !c.is(e, kindList, "a list of strings") {
		return nil
	}
	var out []string
	for _, item := range e.list() {
		if s, ok := read(item); ok {
			out = append(out, s)
		}
	}
	return out
}

// integer reads a whole number. 5.0 is one too, as it is in JSON Schema.
func (c *checker) integer(e entry) (int, bool) {
	if !c.is(e, kindNumber, "a whole number") {
		return 0, false
	}
	n, ok := wholeNumber(e.node.text)
	if !ok {
		c.problem(e, "must be a whole number, got %s", schema.Cite(e.node.text))
	}
	return n, ok
}

func wholeNumber(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// unknownKeys warns of keys that mean nothing to this host.
func (c *checker) unknownKeys(e entry, known []string) {
	for _, f := range e.node.fields {
		if slices.Contains(known, f.name) {
			continue
		}
		at := entry{field: schema.FieldPath(e.field, f.name), at: f.at}
		c.warn(at, "unknown key, ignored%s", didYouMean(f.name, known))
	}
}

// oneOf reads a string that must be one of a few words.
func (c *checker) oneOf(e entry, words []string) (string, bool) {
	s, ok := c.text(e)
	if ok && !slices.Contains(words, s) {
		c.problem(e, "must be one of %s, got %s%s", strings.Join(words, ", "), schema.Cite(s), didYouMean(s, words))
		return "", false
	}
	return s, ok
}

// distinct reports a word that an earlier entry has already.
func (c *checker) distinct(seen map[string]string, e entry, word string) bool {
	if first, twice := seen[word]; twice {
		c.problem(e, "repeats %s", first)
		return false
	}
	seen[word] = e.field
	return true
}

// didYouMean names the known word that is close to a foreign one, as the end of
// a message; "" where none is.
func didYouMean(word string, known []string) string {
	near := nearest.Word(word, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", near)
}
