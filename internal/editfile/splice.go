package editfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
)

// ErrPath is wrapped by the error of a path that leads through a value other than a table or an
// object, or that ends at a table with its own header. A person must change such a file.
var ErrPath = errors.New("cannot be edited in place: change the file by hand")

// A splice replaces a piece of a text.
type splice struct {
	from, to int
	text     string
}

func (s splice) apply(data []byte) []byte {
	out := make([]byte, 0, len(data)-(s.to-s.from)+len(s.text))
	out = append(out, data[:s.from]...)
	out = append(out, s.text...)
	return append(out, data[s.to:]...)
}

// A parser reads a whole text as values: maps, lists and scalars.
type parser func(data []byte) (map[string]any, error)

// firstGood returns the text after the first splice that changes the values only at the path.
func firstGood(data []byte, candidates []splice, want map[string]any, parse parser) ([]byte, error) {
	for _, s := range candidates {
		out := s.apply(data)
		if got, err := parse(out); err == nil && same(got, want) {
			return out, nil
		}
	}
	return nil, ErrPath
}

// with returns values with another value at path. The value absent removes the one at path. with
// copies the maps on the path, so that the argument does not change. It fails if the path leads
// through a value that is not a map.
func with(values map[string]any, path []string, value any) (map[string]any, error) {
	out := make(map[string]any, len(values)+1)
	for k, v := range values {
		out[k] = v
	}
	name := path[0]
	if len(path) == 1 {
		if _, table := out[name].(map[string]any); table && value != absent {
			if _, replaces := value.(map[string]any); !replaces {
				return nil, fmt.Errorf("%s is a table: %w", name, ErrPath)
			}
		}
		if out[name] = value; value == absent {
			delete(out, name)
		}
		return out, nil
	}
	inner, isMap := out[name].(map[string]any)
	if _, there := out[name]; there && !isMap {
		return nil, fmt.Errorf("%s is not a table: %w", name, ErrPath)
	}
	if inner == nil && value == absent {
		return out, nil
	}
	changed, err := with(inner, path[1:], value)
	out[name] = changed
	return out, err
}

// absent is the value of a removal.
var absent any = struct{ absent bool }{true}

// at reports whether there is a value at path.
func at(values map[string]any, path []string) bool {
	for i, name := range path {
		v, ok := values[name]
		if !ok || i == len(path)-1 {
			return ok
		}
		if values, ok = v.(map[string]any); !ok {
			return false
		}
	}
	return false
}

// same compares values. Unlike reflect.DeepEqual it treats NaN as equal to NaN, and compares times
// by moment and offset.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Format(time.RFC3339Nano) == b.Format(time.RFC3339Nano)
	}
	return reflect.DeepEqual(a, b)
}

// newline returns the line ending that a text uses.
func newline(data []byte) string {
	if i := strings.IndexByte(string(data), '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// decode reads a JSON value with numbers as written.
func decode(value json.RawMessage) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(value)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}
