package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// equal reports whether two JSON values are the same. Numbers are compared by value, not by
// spelling.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || newNumber(a).compare(newNumber(b)) == 0)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	return a == b
}

// unique fails if two items of a list are equal. It writes each item in a form that equal items
// share, so that a list of n items takes n steps.
func (r *report) unique(list []any) {
	if len(list) < 2 {
		return
	}
	known := make(map[string]int, len(list))
	var b strings.Builder
	for i, item := range list {
		b.Reset()
		writeKey(&b, item)
		first, ok := known[b.String()]
		if !ok {
			known[b.String()] = i
			continue
		}
		if r.fails() {
			r.add(fmt.Sprintf("must not repeat an item: %d and %d are the same", first, i))
		}
		return
	}
}

// writeKey writes a text that is the same for equal values, and different for others.
func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(strconv.Quote(v))
	case json.Number:
		b.WriteString(newNumber(v).key())
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeKey(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			writeKey(b, v[name])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		fmt.Fprint(b, v) // true, false, <nil>
	}
}
