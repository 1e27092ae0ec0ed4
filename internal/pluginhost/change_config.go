package pluginhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// configure replaces the user's config for a plugin. It removes settings that value lacks; the
// others keep their place and their comments. A secret is shown as a placeholder: if the
// placeholder comes back, the secret stays as it is.
func (c *configEdit) configure(value json.RawMessage) error {
	var want map[string]any
	if err := json.Unmarshal(value, &want); err != nil || want == nil {
		return errors.New("config: want an object")
	}
	if deeper(want, mostDepth) {
		return dialect.WithFix(fmt.Errorf("config: nested more than %d deep", mostDepth), "change the file by hand")
	}
	configs := &pluginConfigs{user: c.read, project: &config.Project{}}
	user, _ := configs.layers(c.entry.names)
	key := c.host.sectionKey(c.entry, user)
	if err := keepHidden(want, user.table, c.entry.shownConfig(user.table), nil); err != nil {
		return err
	}
	if err := c.checkConfig(want); err != nil {
		return err
	}
	return c.replace(key, []string{"config"}, user.table, want)
}

// mostDepth limits the nesting of a config. It is deeper than people write, and less than the file
// format allows.
const mostDepth = 32

// deeper reports whether the tables and lists of a value are nested deeper than the limit most.
func deeper(value any, most int) bool {
	inner := func(v any) bool { return most == 0 || deeper(v, most-1) }
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if inner(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, inner)
	}
	return false
}

// keepHidden replaces each placeholder in want by the value that it stands for.
func keepHidden(want, old, shown map[string]any, path []string) error {
	for name, v := range want {
		at := append(slices.Clone(path), name)
		if was, there := old[name]; there && !isTable(v) && reflect.DeepEqual(numbers(shown[name]), numbers(v)) {
			want[name] = was
			continue
		}
		if inner, ok := v.(map[string]any); ok {
			was, _ := old[name].(map[string]any)
			seen, _ := shown[name].(map[string]any)
			if err := keepHidden(inner, was, seen, at); err != nil {
				return err
			}
			continue
		}
		covered := !reflect.DeepEqual(numbers(shown[name]), numbers(old[name])) // part of the old value is not shown
		if v == config.Hidden || covered && strings.Contains(fmt.Sprint(v), config.Hidden) {
			return fmt.Errorf("config.%s: %q stands for a value that is not shown: write the value, or leave it as it was shown", strings.Join(at, "."), config.Hidden)
		}
	}
	return nil
}

func isTable(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

// replace changes a table of the file value by value.
func (c *configEdit) replace(section string, path []string, old, want map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, stays := want[name]; !stays {
			if err := c.set(section, json.RawMessage("null"), append(slices.Clone(path), name)...); err != nil {
				return fmt.Errorf("%s.%s: %w", strings.Join(path, "."), name, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		at := append(slices.Clone(path), name)
		was, there := old[name]
		inner, isTable := want[name].(map[string]any)
		before, wasTable := was.(map[string]any)
		if isTable && (wasTable || !there) && len(inner) > 0 {
			if err := c.replace(section, at, before, inner); err != nil {
				return err
			}
			continue
		}
		if there && reflect.DeepEqual(numbers(was), numbers(want[name])) {
			continue
		}
		text, err := json.Marshal(want[name])
		if err == nil {
			err = c.set(section, text, at...)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", strings.Join(path, "."), name, err)
		}
	}
	return nil
}

// numbers returns a value in which all numbers have the type of encoding/json, so that a value of
// the file can be compared with one of JSON.
func numbers(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(text, &out) != nil {
		return v
	}
	return out
}
