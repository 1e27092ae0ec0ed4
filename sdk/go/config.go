package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
)

// settings is a struct that is filled before the first handler runs.
type settings struct {
	schema object
	fill   func(data []byte) error // decodes over the defaults
	fields []settingField
}

// A settingField holds what the tags of a field say beside its schema.
type settingField struct {
	name string
	knob string // the label of a control; "": no control
	kind string // the type of the control; "": by the type of the field
	env  string // the environment variable with the value
}

// Config declares the plugin's config: a struct whose fields are its keys, with their defaults. It
// returns the struct that has the values when handlers run; before Main it has only the defaults.
// If the type has a method Validate() error, it is called.
//
// Config comes from the host if the dialect supports it (kaged, dotagent). Otherwise it is read
// from $XDG_CONFIG_HOME/NAME/config.json, or ~/.config/NAME/config.json, if that file exists.
func Config[T any](p *Plugin, defaults T) *T {
	values := new(T)
	*values = defaults
	if p.config != nil {
		p.fault("there are two configs")
	}
	p.config = newSettings(p, "config", values, defaults)
	return values
}

// Secrets declares values that must not be in a config: tokens, passwords. It works like Config;
// the values come from kaged's system_config, or else from the variables that the env tags of the
// fields name. All fields are optional for the host: check them before you use them.
func Secrets[T any](p *Plugin, defaults T) *T {
	values := new(T)
	*values = defaults
	if p.secrets != nil {
		p.fault("there are two sets of secrets")
	}
	p.secrets = newSettings(p, "secrets", values, defaults)
	p.secrets.schema = p.secrets.schema.without("required")
	for _, f := range p.secrets.fields {
		if f.env != "" {
			p.Env(f.env)
		}
	}
	return values
}

func newSettings[T any](p *Plugin, what string, values *T, defaults T) *settings {
	t := reflect.TypeFor[T]()
	s := &settings{}
	if t.Kind() != reflect.Struct {
		p.fault("the %s must be a struct, not %s", what, t)
		return s
	}
	schema, err := schemaOf(t, reflect.ValueOf(defaults))
	if err != nil {
		p.fault("the %s: %w", what, err)
	}
	s.schema, s.fields = closed(schema), settingFields(t)
	s.fill = func(data []byte) error {
		if err := checkJSON(s.schema, data, true); err != nil {
			return err
		}
		fresh := defaults
		if err := json.Unmarshal(data, &fresh); err != nil {
			return decoding(err)
		}
		if v, ok := any(&fresh).(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				return err
			}
		}
		*values = fresh
		return nil
	}
	return s
}

func settingFields(t reflect.Type) []settingField {
	var out []settingField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		out = append(out, settingField{name: name, knob: f.Tag.Get("knob"), kind: f.Tag.Get("control"), env: f.Tag.Get("env")})
	}
	return out
}

// configure fills the config from the host's message; nil: the host sends none, and a file is read
// if it exists.
func (s *session) configure(data []byte) error {
	if s.plugin.config == nil {
		return nil
	}
	if data != nil {
		return named("config", s.plugin.config.fill(data))
	}
	file := s.configFile()
	data, err := os.ReadFile(file)
	switch {
	case file == "" || errors.Is(err, fs.ErrNotExist):
		data = []byte("{}")
	case err != nil:
		return err
	}
	if err := s.plugin.config.fill(data); err != nil {
		return fmt.Errorf("%w; the config is %s", named("config", err), file)
	}
	return nil
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// configFile returns the path of the config in dialects whose hosts send none; "" if there is no
// home.
func (s *session) configFile() string {
	return s.inHome("XDG_CONFIG_HOME", ".config", s.plugin.name, "config.json")
}

// inHome returns a path below a directory that a variable names, or below the home.
func (s *session) inHome(variable, otherwise string, parts ...string) string {
	base := s.env(variable)
	if !filepath.IsAbs(base) {
		home := s.env("HOME")
		if home == "" {
			home = s.env("USERPROFILE")
		}
		if home == "" {
			return ""
		}
		base = filepath.Join(home, otherwise)
	}
	return filepath.Join(append([]string{base}, parts...)...)
}

// fillSecrets fills the secrets: from the host's message, else from the environment.
func (s *session) fillSecrets(data []byte) error {
	if s.plugin.secrets == nil {
		return nil
	}
	values := map[string]json.RawMessage{}
	if data != nil {
		if err := json.Unmarshal(data, &values); err != nil {
			return fmt.Errorf("system_config: %w", decoding(err))
		}
	}
	for _, f := range s.plugin.secrets.fields {
		text := ""
		if f.env != "" {
			text = s.env(f.env)
		}
		if _, sent := values[f.name]; !sent && text != "" {
			values[f.name] = appendString(nil, text)
		}
	}
	all, err := marshal(values)
	if err != nil {
		return err
	}
	return named("secrets", s.plugin.secrets.fill(all))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
