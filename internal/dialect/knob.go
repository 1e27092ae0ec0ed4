package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Knob is one setting of a plugin that a user may change: a control bound to a field of the
// plugin's config. A limit is nil if neither the knob nor the field has one.
type Knob struct {
	Key         string            `json:"key" doc:"The key under which it is set." example:"level"`
	Type        string            `json:"type" enum:"range,int_range,enum,boolean,text,multiline,model_alias,path" doc:"The kind of control." example:"int_range"`
	Label       string            `json:"label" doc:"A label for people." example:"Level"`
	Description string            `json:"description" doc:"What it does; may be empty." example:"how much is told"`
	BindsTo     string            `json:"binds_to" doc:"The value in the config that it sets." example:"config.level"`
	Path        []string          `json:"-"` // BindsTo as names of fields, from the top of config
	Min         *float64          `json:"min" doc:"The smallest value; null if there is none." example:"0"`
	Max         *float64          `json:"max" doc:"The largest value; null if there is none." example:"9"`
	Step        *float64          `json:"step" doc:"The step between values; null if there is none." example:"1"`
	Values      []json.RawMessage `json:"values" nullable:"true" doc:"The values of an enum: strings, numbers or booleans." example:"[\"fast\",\"slow\"]"`
	Labels      []string          `json:"labels" nullable:"true" doc:"One for each of the values, or none." example:"[\"Fast\",\"Slowly\"]"`
	MaxLength   *int              `json:"max_length" doc:"The largest length of a text; null if there is none." example:"200"`
	Prefixes    []string          `json:"prefixes,omitempty" doc:"For a path: the allowed beginnings. Absent if every path is allowed." example:"[\"/srv\"]"`
	Default     json.RawMessage   `json:"default" doc:"Its default; null if there is none." example:"1"`
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

// A SecretsChecker is a dialect whose plugins get a table of the secrets file. The dialect knows
// from a plugin's files which names the table may have. UnknownSecrets returns the names in such a
// table that the plugin does not know, and all names that it knows.
type SecretsChecker interface {
	UnknownSecrets(f Found, secrets json.RawMessage) (unknown, known []string)
}
