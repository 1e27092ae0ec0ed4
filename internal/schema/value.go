package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// valuePath writes a path into v: servers[0].port.
func valuePath(v any, at []string) string {
	path := ""
	for i, step := range at {
		if _, ok := valueAt(v, at[:i]).([]any); ok {
			path += "[" + step + "]"
		} else {
			path = FieldPath(path, step)
		}
	}
	return path
}

// valueSteps is a path into v with the indexes of lists as numbers.
func valueSteps(v any, at []string) []any {
	var steps []any
	for i, step := range at {
		if _, ok := valueAt(v, at[:i]).([]any); ok {
			if n, err := strconv.Atoi(step); err == nil {
				steps = append(steps, n)
				continue
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// valueAt follows a path into v; nil where it does not lead on.
func valueAt(v any, at []string) any {
	for _, step := range at {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// findEntry returns the path to the first entry of an object in v that fits, nil
// where there is none. Objects are searched in the order of their keys, so that
// the answer does not change from run to run.
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
