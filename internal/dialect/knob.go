package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Knob is one setting of a plugin that a user may change: a control bound to a field of the
// plugin's config. A limit is nil if neither the knob nor the field has one.
type Knob struct {
	Key         string            `json:"key"`
	Type        string            `json:"type"` // range | int_range | enum | boolean | text | multiline | model_alias | path
	Label       string            `json:"label"`
	Description string            `json:"description"`
	BindsTo     string            `json:"binds_to"` // "config.store"
	Path        []string          `json:"-"`        // BindsTo as names of fields, from the top of config
	Min         *float64          `json:"min"`
	Max         *float64          `json:"max"`
	Step        *float64          `json:"step"`
	Values      []json.RawMessage `json:"values"` // strings, numbers or booleans
	Labels      []string          `json:"labels"` // one for each value, or none at all
	MaxLength   *int              `json:"max_length"`
	Prefixes    []string          `json:"prefixes,omitempty"` // a path must begin with one of them; none: any path
	Default     json.RawMessage   `json:"default"`
}

// A ConfigFault is one value of a plugin's config that is not accepted.
type ConfigFault struct {
	Path    []any // from the top of config: names of fields, and indexes of lists
	Message string
}

// A ConfigError lists all faults of a plugin's config. The host knows which file each value comes
// from, and adds the places.
type ConfigError struct {
	Faults  []ConfigFault // of config
	Secrets []ConfigFault // of system_config; no message repeats a value
}

// Error lists all faults in one line.
func (e *ConfigError) Error() string {
	var parts []string
	for _, f := range e.Faults {
		parts = append(parts, fieldPath("config", f.Path)+": "+f.Message)
	}
	for _, f := range e.Secrets {
		parts = append(parts, fieldPath("system_config", f.Path)+": "+f.Message)
	}
	return "its configuration does not fit: " + strings.Join(parts, "; ")
}

// fieldPath formats a path as config.servers[0].port.
func fieldPath(name string, path []any) string {
	var b strings.Builder
	b.WriteString(name)
	for _, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		default:
			fmt.Fprintf(&b, ".%v", step)
		}
	}
	return b.String()
}

// A SettingsChecker is a dialect that can check settings for a plugin without starting it. Values
// that are not accepted are returned as a [*ConfigError].
type SettingsChecker interface {
	CheckSettings(f Found, s Settings) error
}
