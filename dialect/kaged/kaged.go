package kaged

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// Name is the dialect's name.
const Name = "kaged"

// A Dialect is the kaged protocol.
type Dialect struct {
	// How long a plugin may take to answer initialize and health.check. Tests of
	// plugins that never answer have no time for the real values.
	handshake, health time.Duration
}

// New returns the dialect.
func New() *Dialect { return &Dialect{handshake: handshakeTimeout, health: healthTimeout} }

// Name is "kaged".
func (d *Dialect) Name() string { return Name }

// Open checks the plugin's configuration, starts it and shakes hands with it.
// From then on it is pinged, and started again whenever it dies.
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	m, ok := f.Manifest.(*Manifest)
	if !ok || f.State != "" {
		return nil, unopened(f.Name, fmt.Errorf("it is %s: %w", f.State, f.Err))
	}
	if err := checkSettings(m, s); err != nil {
		return nil, unopened(m.Name, err)
	}
	p := newPlugin(d, f.Path, m, s, rt)
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// unopened is the error of a plugin that never got as far as a call.
func unopened(plugin string, err error) error {
	return &hook.Error{Plugin: plugin, Dialect: Name, Kind: hook.Unavailable, Err: err}
}

// checkSettings holds both configurations against their schemas, and reports
// everything that does not fit at once. A schema.Error names the field and the
// rule, never the value, which in system_config is a secret.
func checkSettings(m *Manifest, s dialect.Settings) error {
	faults := misfits("config", m.ConfigSchema.Check(orEmpty(s.Config)))
	faults = append(faults, misfits("system_config", m.SystemConfigSchema.Check(orEmpty(s.SystemConfig)))...)
	if len(faults) == 0 {
		return nil
	}
	return errors.New("its configuration does not fit: " + strings.Join(faults, "; "))
}

// misfits names each place: config.servers[0].port: …
func misfits(where string, errs []schema.Error) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.In(where))
	}
	return out
}
