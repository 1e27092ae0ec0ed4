package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// A patternEngine compiles the regular expressions of one schema.
//
// JSON Schema uses the expressions of ECMAScript, and tools that write schemas use all of them:
// lookahead for e-mail addresses, counts over 1000. Go's engine, which never backtracks, lacks
// these. A pattern that only ECMAScript supports is not checked, and a warning says so; the plugin
// itself still gets the value. A pattern that is invalid in both is an error.
type patternEngine struct {
	size  int // of all patterns so far
	known map[string]compiledPattern
}

// A matcher is a compiled pattern: a regexp.Regexp, or anyText.
type matcher interface{ MatchString(string) bool }

// A compiledPattern is a matcher or an error.
type compiledPattern struct {
	matcher
	err error
}

func newPatternEngine() *patternEngine {
	return &patternEngine{known: make(map[string]compiledPattern)}
}

// maxPatternSize limits the compiled size of all patterns of a schema, in instructions of some 40
// bytes. Repetition can turn kilobytes into gigabytes.
const maxPatternSize = 50_000

// compile returns the matcher of a pattern. Each pattern is compiled once.
func (e *patternEngine) compile(pattern string) (matcher, error) {
	p, ok := e.known[pattern]
	if !ok {
		p.matcher, p.err = e.build(pattern)
		e.known[pattern] = p
	}
	return p.matcher, p.err
}

func (e *patternEngine) build(pattern string) (matcher, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil && onlyECMAScript(err) {
		return &anyText{err}, nil
	}
	if err != nil {
		return nil, err
	}
	if e.size += patternSize(tree); e.size > maxPatternSize {
		return nil, errors.New("the patterns of this schema are too large")
	}
	return regexp.Compile(pattern)
}

// ecmaScript lists the beginnings of expressions that only ECMAScript has: lookahead and
// lookbehind, Unicode properties, the empty class.
var ecmaScript = []string{"(?=", "(?!", "(?<=", "(?<!", `\p`, `\P`, "[]", "[^]"}

// onlyECMAScript reports whether the error is about something that Go's engine lacks.
func onlyECMAScript(err error) bool {
	bad, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return false
	}
	switch bad.Code {
	case syntax.ErrInvalidEscape, // \1, \k<name>, \u0041, \cJ
		syntax.ErrInvalidRepeatSize, // {1,2000}
		syntax.ErrLarge:
		return true
	}
	return slices.ContainsFunc(ecmaScript, func(op string) bool { return strings.HasPrefix(bad.Expr, op) })
}

// patternSize estimates the number of instructions of a compiled pattern. It stops counting above
// the limit.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		size = min(size+patternSize(sub), maxPatternSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPatternSize+1)
}

// anyText is a pattern that is not checked.
type anyText struct{ why error }

func (t *anyText) MatchString(string) bool { return true }

// unchecked returns a fault for each pattern that is not checked.
func (e *patternEngine) unchecked(doc any) []Fault {
	var out []Fault
	for _, pattern := range slices.Sorted(maps.Keys(e.known)) {
		if skipped, ok := e.known[pattern].matcher.(*anyText); ok {
			at := findEntry(doc, func(key string, v any) bool { return key == pattern || v == pattern })
			out = append(out, Fault{at, fmt.Sprintf("the pattern %s is not checked here: %s", Cite(pattern), shorten(skipped.why.Error()))})
		}
	}
	return out
}

// isPattern reports whether a text is a valid pattern, even if only in ECMAScript.
func isPattern(text string) bool {
	_, err := newPatternEngine().compile(text)
	return err == nil
}
