package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// valuePath formats a path into v, such as servers[0].port, and lists its steps, with indexes of
// lists as numbers.
func valuePath(v any, at []string) (path string, steps []any) {
	for _, step := range at {
		_, inList := v.([]any)
		_, next, ok := enter(v, step)
		if i, err := strconv.Atoi(step); inList && ok && err == nil {
			path += "[" + step + "]"
			steps = append(steps, i)
		} else {
			path = FieldPath(path, step)
			steps = append(steps, step)
		}
		v = next
	}
	return path, steps
}

// valueAt follows a path into v. It returns nil if the path leads nowhere.
func valueAt(v any, at []string) any {
	for _, step := range at {
		_, v, _ = enter(v, step)
	}
	return v
}

// enter takes one step into v. key is the step in its normal form.
func enter(v any, step string) (key string, inner any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		inner, ok = v[step]
		return step, inner, ok
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(v) {
			return "", nil, false
		}
		return strconv.Itoa(i), v[i], true
	}
	return "", nil, false
}

// findEntry returns the path to the first matching entry of an object in v, or nil. It searches
// objects in the order of their keys, so that the result is always the same.
func findEntry(v any, fits func(key string, v any) bool) []string {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if at := findEntry(item, fits); at != nil {
				return append([]string{strconv.Itoa(i)}, at...)
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if fits(key, v[key]) {
				return []string{key}
			}
			if at := findEntry(v[key], fits); at != nil {
				return append([]string{key}, at...)
			}
		}
	}
	return nil
}

// fieldNames lists the keys of a schema's properties, in order.
func fieldNames(schema json.RawMessage) []string {
	top, err := rawjson.Parse(schema)
	if err != nil {
		return nil
	}
	properties, err := rawjson.Parse(top.Get("properties"))
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range properties {
		names = append(names, f.Name)
	}
	return names
}

// size counts the values in v, itself included.
func size(v any) int {
	total := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			total += size(item)
		}
	case map[string]any:
		for _, item := range v {
			total += size(item)
		}
	}
	return total
}
