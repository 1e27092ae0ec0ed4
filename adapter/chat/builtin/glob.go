package builtin

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// A glob matches paths: each part as path.Match does, and ** any number of parts.
type glob struct {
	parts []string
	bare  bool // it has no slash: it is matched against the last part of a path
}

func newGlob(pattern string) (*glob, error) {
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	g := &glob{parts: strings.Split(pattern, "/"), bare: !strings.Contains(pattern, "/")}
	for _, part := range g.parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("the pattern %s: %w", quoted(pattern), err)
		}
	}
	return g, nil
}

// match reports whether a path with slashes matches.
func (g *glob) match(name string) bool {
	if g.bare && g.parts[0] != "**" {
		return part(g.parts[0], path.Base(name))
	}
	return matchParts(g.parts, strings.Split(name, "/"))
}

// matchParts compares pattern and name part by part. Where they differ, it lets the last ** match
// one part more and goes on from there. It need not try an earlier ** again: the last one can
// match all parts that an earlier one could match in addition.
func matchParts(pattern, name []string) bool {
	i, j := 0, 0
	star, taken := -1, 0 // the place of the last **, and how far it reaches
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			star, taken = i, j
			i++
		case i < len(pattern) && part(pattern[i], name[j]):
			i, j = i+1, j+1
		case star >= 0:
			taken++
			i, j = star+1, taken
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == "**" {
		i++
	}
	return i == len(pattern)
}

// part matches one part. The pattern is valid.
func part(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
