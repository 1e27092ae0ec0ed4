package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxCited limits how much of a plugin's text a message repeats.
const maxCited = 60

// Cite quotes text of a plugin for a message, and shortens it.
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

// choices lists values of a schema as JSON.
func choices(values []any) string {
	var out []string
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte("?")
		}
		out = append(out, string(text))
	}
	return shorten(strings.Join(out, ", "))
}

// shorten shortens text of a schema for a message.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// isPlainKey reports whether a key needs no quotes in a path.
func isPlainKey(key string) bool {
	return key != "" && len(key) <= maxCited && only(key, func(c byte) bool {
		return isLabelByte(c) || c == '_' || c == '$'
	})
}

// FieldPath returns the path of a key below parent: parent.name, or parent["odd name"].
func FieldPath(parent, name string) string {
	switch {
	case !isPlainKey(name):
		return fmt.Sprintf("%s[%s]", parent, Cite(name))
	case parent == "":
		return name
	default:
		return parent + "." + name
	}
}
