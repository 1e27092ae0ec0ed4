package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Knob is one setting of a plugin that a person may turn: a control bound to a field of the
// plugin's config. A limit that neither the knob nor the field has is nil.
type Knob struct {
	Key         string            `json:"key"`
	Type        string            `json:"type"` // range | int_range | enum | boolean | text | multiline | model_alias | path
	Label       string            `json:"label"`
	Description string            `json:"description"`
	BindsTo     string            `json:"binds_to"` // "config.store"
	Path        []string          `json:"-"`        // the same as the names of fields, from the top of config
	Min         *float64          `json:"min"`
	Max         *float64          `json:"max"`
	Step        *float64          `json:"step"`
	Values      []json.RawMessage `json:"values"` // strings, numbers or booleans
	Labels      []string          `json:"labels"` // one for each value, or none
	MaxLength   *int              `json:"max_length"`
	Prefixes    []string          `json:"prefixes,omitempty"` // a path begins with one of them; none: with anything
	Default     json.RawMessage   `json:"default"`
}

// A ConfigFault is one value of a plugin's config that does not fit.
type ConfigFault struct {
	Path    []any // from the top of config: names of fields, and indexes of lists
	Message string
}

// A ConfigError is all that is wrong with what a plugin was given as its config. The host knows in
// which files the values stand, and adds the places.
type ConfigError struct {
	Faults  []ConfigFault // of config
	Secrets []ConfigFault // of system_config; no message has a value
}

// Error lists everything in one line.
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

// fieldPath writes a path the way people do: config.servers[0].port.
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

// A SettingsChecker is a dialect that can tell, without starting a plugin, whether settings would
// do for it. What does not fit is a [*ConfigError].
type SettingsChecker interface {
	CheckSettings(f Found, s Settings) error
}
