package schema

import (
	"fmt"
	"regexp"
	"strings"
)

// maxCited bounds how much of a plugin's own text a message repeats.
const maxCited = 60

// Cite quotes foreign text for a message, cut.
func Cite(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxCited {
			return fmt.Sprintf("%q…", s[:i])
		}
	}
	return fmt.Sprintf("%q", s)
}

func citeAll(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, Cite(name))
	}
	return shorten(strings.Join(out, ", "))
}

// shorten cuts a text of a schema's own for a message.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_$-]{1,60}$`)

// FieldPath names a key below parent: parent.name, or parent["odd name"].
func FieldPath(parent, name string) string {
	switch {
	case !plainKey.MatchString(name):
		return fmt.Sprintf("%s[%s]", parent, Cite(name))
	case parent == "":
		return name
	default:
		return parent + "." + name
	}
}
