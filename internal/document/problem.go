package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// maxProblems limits an error's length. A file with more problems usually repeats one mistake.
const maxProblems = 50

// A Problem is one thing that is wrong with a file.
type Problem struct {
	File    string
	Line    int    // counts from 1; 0 if the problem is the file itself
	Column  int    // counts from 1; in bytes in TOML, in characters in YAML, as their libraries count
	Key     string // dotted, e.g. plugins.git-context.timeout; empty for syntax errors
	Message string // what is wrong
	Fix     string // what to do about it; may be empty

	Misspelt bool // an unknown key that differs from a known one by a typing error, or a value that probably means something else
}

// String returns the problem on one line, in the file:line:column format that editors understand.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(p.Message)
	if p.Fix != "" {
		b.WriteString("; ")
		b.WriteString(p.Fix)
	}
	return b.String()
}

// An Error holds all problems of a file, in the order of its lines.
type Error struct {
	Problems []Problem
}

// Error returns every problem, one per line.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for i, p := range e.Problems {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-i))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// inOrder sorts problems by place.
func inOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

// KeyPath formats a path as in TOML: connect[0].point, plugins."a.b".
func KeyPath(path ...any) string {
	var b strings.Builder
	for _, part := range path {
		switch part := part.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", part)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(QuoteKey(part))
		}
	}
	return b.String()
}

// QuoteKey quotes a key if TOML requires it.
func QuoteKey(key string) string {
	if key != "" && strings.IndexFunc(key, func(r rune) bool { return !alphanumeric(r) && r != '-' && r != '_' }) < 0 {
		return Cut(key)
	}
	return fmt.Sprintf("%q", Cut(key))
}

func alphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// Cut shortens text of a file for messages.
func Cut(s string) string { return excerpt.Of(s, 80) } // longer names and values are recognised by their beginning
