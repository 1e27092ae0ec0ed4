package kaged

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// published has what manifests of published plugins have: labels by value, keys for other tools, a
// schema that is stricter than the knobs.
const published = `
config_schema:
  type: object
  additionalProperties: false
  properties:
    store: {type: string, default: "config:/memory"}
    isolation: {type: string, enum: [agent, project]}
    boost: {type: integer, minimum: 0, maximum: 10}
    server: {type: object, properties: {port: {type: integer}}}
knobs:
  store: {type: path, label: Storage location, prefixes: ["config:", "project:"], default: "config:/memory", binds_to: config.store}
  isolation:
    type: enum
    label: Isolation scope
    labels: {agent: "Per agent (recommended)", project: Shared}
    default: agent
    binds_to: config.isolation
  boost: {type: range, label: Boost, min: 0, max: 5, step: 0.5, default: 3, binds_to: config.boost}
  port: {type: int_range, label: Port, min: 1, max: 65535, default: 80, binds_to: config.server.port}
`

// TestKnobDefaultsAreDelivered: a plugin gets the knob's default if its config has no value.
func TestKnobDefaultsAreDelivered(t *testing.T) {
	r := newRig(t, "echo", published)
	r.settings.Config = json.RawMessage(`{"boost":1}`)
	r.open()
	if got, want := string(r.received()[0].Params), `"config":{"boost":1,"store":"config:/memory","isolation":"agent","server":{"port":80}}`; !strings.Contains(got, want) {
		t.Errorf("initialize was sent %s, want %s in it", got, want)
	}
}

// TestAValueOutsideItsKnob: a value that its knob does not allow is an error that names the field,
// and the plugin is not started.
func TestAValueOutsideItsKnob(t *testing.T) {
	for _, tc := range []struct{ rule, config, says string }{
		{"above max", `{"boost":6}`, "config.boost: must be from 0 to 5 (knob \"boost\")"},
		{"not what the schema allows", `{"boost":2.5}`, "config.boost: "},
		{"none of the values", `{"isolation":"all"}`, "config.isolation: "},
		{"in an object", `{"server":{"port":0}}`, "config.server.port: must be from 1 to 65535 (knob \"port\")"},
		{"not a text", `{"store":7}`, "config.store: "},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "echo", published)
			r.settings.Config = json.RawMessage(tc.config)
			if err := r.refused(); !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %q does not say %q", err, tc.says)
			}
			found := dialect.Found{Name: "echo", Manifest: r.manifest()}
			if err := r.dialect.CheckSettings(found, r.settings); err == nil {
				t.Error("CheckSettings has nothing against it")
			}
		})
	}
}
