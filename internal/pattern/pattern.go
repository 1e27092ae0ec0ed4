// Package pattern has regular expressions that are compiled when they are first used. The packages
// have dozens of them, and most commands use none. When all were compiled at the start, that took
// half a millisecond before main.
package pattern

import (
	"regexp"
	"sync"
)

// A Pattern is a regular expression. It is safe for concurrent use.
type Pattern struct{ compiled func() *regexp.Regexp }

// New returns the pattern of an expression, which must be a constant. An invalid expression panics
// when it is first used; a test of the module compiles them all.
func New(expr string) Pattern {
	return Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// Regexp returns the compiled expression.
func (p Pattern) Regexp() *regexp.Regexp { return p.compiled() }

// MatchString reports whether the expression matches somewhere in s.
func (p Pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }
