package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// generated lists patterns for values that are new in each call. The longer ones come first.
var generated = []struct {
	found pattern.Pattern
	as    string
}{
	{pattern.New(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "{uuid}"},
	{pattern.New(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?`), "{time}"},
	{pattern.New(`\b(?:[0-9A-Z]{26}|[a-z]{2,8}_[0-9a-z]{26})\b`), "{id}"}, // ULIDs, our own ids, and the texts of crypto/rand.Text
}

// Fields whose numbers are moments, durations or process ids.
var (
	timeField = pattern.New(`(?i)(^|_)(ts|time|timestamp|now|date|epoch)$|_at$|(Time|Timestamp|At)$`)
	spanField = pattern.New(`(?i)(^|_)(duration|elapsed|latency|took|uptime)(_(s|ms|us|ns|seconds|millis))?$|^pid$`)
)

// idField matches fields whose text is new in each call.
var idField = pattern.New(`(?i)^(request|trace|span|correlation)_?id$`)

// A normal makes two sides comparable: values that may differ from run to run become equal.
type normal struct {
	exact  bool              // only the ignored fields become equal
	places *strings.Replacer // paths of both sides: a plugin that is sent recorded texts may answer with recorded paths
	ignore []ignored
}

// places returns a replacer for paths, from a map of each path to its placeholder.
func places(pairs map[string]string) *strings.Replacer {
	paths := slices.SortedFunc(maps.Keys(pairs), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	var list []string
	for _, path := range paths {
		if len(path) > 3 { // "/" and the like are in every path
			list = append(list, path, pairs[path])
		}
	}
	return strings.NewReplacer(list...)
}

// An ignored is the name of a field at any depth, or a JSON pointer from the step; * matches any
// one part.
type ignored struct {
	field string
	parts []string
}

func parseIgnored(text string) ignored {
	rest, pointer := strings.CutPrefix(text, "/")
	if !pointer {
		return ignored{field: text}
	}
	parts := strings.Split(rest, "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
	}
	return ignored{parts: parts}
}

// CheckIgnored checks an element of [ReplayOptions.Ignore]. A pointer that no difference can have
// is an error.
func CheckIgnored(text string) error {
	if i := parseIgnored(text); i.parts != nil && i.parts[0] != "*" && !slices.Contains(compared, i.parts[0]) {
		return fmt.Errorf("no difference begins with /%.64s", i.parts[0])
	}
	return nil
}

// compared are the parts of a call that are compared: the first parts of pointers.
var compared = []string{"sent", "received", "verdict", "error", "error_kind", "on_failure", "diff", "result"}

func (i ignored) matches(path []string) bool {
	if i.parts == nil {
		return path[len(path)-1] == i.field
	}
	return slices.EqualFunc(i.parts, path, func(want, got string) bool { return want == "*" || want == got })
}

func (n *normal) ignores(path []string) bool {
	return len(path) > 0 && slices.ContainsFunc(n.ignore, func(i ignored) bool { return i.matches(path) })
}

// of returns a document in comparable form.
func (n *normal) of(doc json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return doc // cannot happen: it was checked when it was read
	}
	return marshal(n.value(v, nil))
}

func (n *normal) value(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			at := append(path[:len(path):len(path)], name)
			if n.ignores(at) {
				delete(v, name)
				continue
			}
			v[name] = n.value(inner, at)
		}
	case []any:
		return n.list(v, path)
	case string:
		if !n.exact && len(path) > 0 && idField.MatchString(path[len(path)-1]) {
			return "{id}"
		}
		return n.text(v)
	case json.Number:
		return n.number(v, path)
	}
	return v
}

func (n *normal) list(v []any, path []string) []any {
	out := make([]any, 0, len(v))
	for i, inner := range v {
		if at := append(path[:len(path):len(path)], strconv.Itoa(i)); !n.ignores(at) {
			out = append(out, n.value(inner, at))
		}
	}
	return out
}

func (n *normal) text(text string) string {
	text = n.places.Replace(text)
	if n.exact {
		return text
	}
	for _, g := range generated {
		text = g.found.Regexp().ReplaceAllString(text, g.as)
	}
	return text
}

func (n *normal) number(v json.Number, path []string) any {
	if n.exact || len(path) == 0 {
		return v
	}
	switch name := path[len(path)-1]; {
	case spanField.MatchString(name):
		return "{duration}"
	case timeField.MatchString(name) && isEpoch(v):
		return "{time}"
	}
	return v
}

// isEpoch reports whether a number can be a moment between 2008 and 2100, in seconds, milli-,
// micro- or nanoseconds.
func isEpoch(v json.Number) bool {
	f, err := v.Float64()
	for scale := 1.0; err == nil && scale <= 1e9; scale *= 1e3 {
		if s := f / scale; s > 1.2e9 && s < 4.1e9 {
			return true
		}
	}
	return false
}

// marshal encodes a decoded value. Fields are sorted by name.
func marshal(v any) json.RawMessage {
	return bytes.TrimSuffix(encodeLine(v), []byte("\n"))
}
