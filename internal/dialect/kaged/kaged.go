package kaged

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Name is the dialect's name.
const Name = "kaged"

// A Dialect is the kaged protocol.
type Dialect struct {
	// handshake and health bound the answers to initialize and health.check. Tests set shorter
	// times.
	handshake, health time.Duration
}

// New returns the dialect.
func New() *Dialect { return &Dialect{handshake: handshakeTimeout, health: healthTimeout} }

// Name is "kaged".
func (d *Dialect) Name() string { return Name }

// Open checks the plugin's configuration, starts the plugin and shakes hands with it. From then on
// the plugin is pinged, and restarted whenever it exits.
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	m, ok := f.Manifest.(*Manifest)
	if !ok || f.State != "" {
		return nil, unopened(f.Name, fmt.Errorf("it is %s: %w", f.State, f.Err))
	}
	s, err := complete(m, s)
	if err != nil {
		return nil, unopened(m.Name, err)
	}
	p := newPlugin(d, f.Path, m, s, rt)
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// unopened returns the error of a plugin that could not be opened.
func unopened(plugin string, err error) error {
	return &hook.Error{Plugin: plugin, Dialect: Name, Kind: hook.Unavailable, Err: err}
}

// CheckSettings checks settings for a plugin without starting it.
func (d *Dialect) CheckSettings(f dialect.Found, s dialect.Settings) error {
	m, ok := f.Manifest.(*Manifest)
	if !ok {
		return fmt.Errorf("plugin %s: its manifest was not read", f.Name)
	}
	_, err := complete(m, s)
	return err
}

// UnknownSecrets implements [dialect.SecretsChecker]. If the manifest names no secrets, the plugin
// may know any, but not a table called config: this is how config.toml is written.
func (d *Dialect) UnknownSecrets(f dialect.Found, secrets json.RawMessage) (unknown, known []string) {
	m, ok := f.Manifest.(*Manifest)
	if !ok {
		return nil, nil
	}
	unknown, known = m.SystemConfigSchema.Unnamed(secrets), m.SystemConfigSchema.Fields()
	if len(known) > 0 {
		return unknown, known
	}
	o, _ := rawjson.Parse(secrets)
	if inner := o.Get("config"); len(inner) > 0 && inner[0] == '{' && slices.Contains(unknown, "config") {
		return []string{"config"}, nil
	}
	return nil, nil
}

// complete adds the defaults of the knobs, and checks the result against the schemas and the knobs.
// It reports all faults at once.
func complete(m *Manifest, s dialect.Settings) (dialect.Settings, error) {
	config, err := withDefaults(m.Knobs, orEmpty(s.Config))
	if err != nil {
		return s, fmt.Errorf("its config: %w", err)
	}
	s.Config = config
	faults := &dialect.ConfigError{Faults: configFaults(m.ConfigSchema.Check(config)), Secrets: configFaults(m.SystemConfigSchema.Check(orEmpty(s.SystemConfig)))}
	for i, f := range faults.Faults {
		if len(f.Path) > 0 && slices.ContainsFunc(m.SystemConfigSchema.Fields(), func(name string) bool { return name == f.Path[0] }) {
			faults.Faults[i].Message = "is a secret, by system_config_schema: write it below [plugins." + m.Name + "] in secrets.toml"
		}
	}
	faults.Faults = append(faults.Faults, outsideKnobs(m.Knobs, config, faults.Faults)...)
	if len(faults.Faults)+len(faults.Secrets) > 0 {
		return s, faults
	}
	return s, nil
}

// outsideKnobs lists the values that their knobs do not allow, except those that are in known.
func outsideKnobs(knobs []dialect.Knob, config json.RawMessage, known []dialect.ConfigFault) []dialect.ConfigFault {
	var out []dialect.ConfigFault
	for i := range knobs {
		k := &knobs[i]
		value := valueAt(config, k.Path)
		if k.Path == nil || value == nil {
			continue
		}
		var path []any
		for _, name := range k.Path {
			path = append(path, name)
		}
		same := func(f dialect.ConfigFault) bool { return slices.Equal(f.Path, path) }
		if why := outside(k, value); why != "" && !slices.ContainsFunc(known, same) {
			out = append(out, dialect.ConfigFault{Path: path, Message: fmt.Sprintf("%s (knob %s)", why, schema.Cite(k.Key))})
		}
	}
	return out
}

// configFaults converts the errors of a schema. A schema.Error names the field and the rule, never
// the value, which in system_config is a secret.
func configFaults(errs []schema.Error) []dialect.ConfigFault {
	var out []dialect.ConfigFault
	for _, e := range errs {
		out = append(out, dialect.ConfigFault{Path: e.At, Message: e.Message})
	}
	return out
}

// misfits formats errors with their places: params.servers[0].port: …
func misfits(where string, errs []schema.Error) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.In(where))
	}
	return out
}
