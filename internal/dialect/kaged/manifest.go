package kaged

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A Manifest is what a plugin's manifest.yaml declares, with defaults filled in:
// docs/protocols/kaged.md#the-manifest.
type Manifest struct {
	Name        string
	Version     string
	KagedAPI    int
	Description string
	Author      string
	License     string
	Homepage    string

	Command []string
	Env     map[string]string // never nil

	Capabilities  []capability.Capability
	Methods       []string
	Notifications []string
	Hooks         []string
	Roles         []string
	Tools         []Tool

	ConfigSchema       *schema.Schema // nil: the manifest has none
	SystemConfigSchema *schema.Schema // the same for secrets
	Knobs              []dialect.Knob // in the order of the file

	ShutdownTimeout time.Duration
	HealthInterval  time.Duration
	HookTimeout     time.Duration

	// Warnings are things that do not prevent the plugin from being used, such as unknown keys.
	// Real manifests have keys for other tools and for later versions, and a plugin must not be
	// refused for them.
	Warnings []document.Problem
}

// A Tool is one entry of a manifest's tools.
type Tool struct {
	Name        string // one segment; the host adds the plugin's name in front
	Description string
	Parameters  *schema.Schema  // parameters_schema, compiled
	JSON        json.RawMessage // the same as JSON
}

// Compactor reports whether the plugin wants to compact transcripts itself. Other plugins only
// observe how they are compacted.
func (m *Manifest) Compactor() bool { return slices.Contains(m.Roles, roleCompactor) }

// ParseManifest reads a manifest and reports every violated field at once, in the order of the
// file. The manifest is never nil, but may be used only if there are no problems. Otherwise it
// holds what could be read, so that a report can name the plugin.
//
//	ParseManifest
//	  document.YAML     bytes to values; bounded, without aliases
//	  checker.manifest  one method for each part of the manifest
//	    schema.Compile  config_schema, system_config_schema, parameters_schema
//	    capability.Parse
//	    checker.knobs
func ParseManifest(file string, data []byte) (*Manifest, []document.Problem) {
	c := &checker{m: &Manifest{Env: map[string]string{}}}
	top, err := document.YAML(file, data)
	if bad, ok := errors.AsType[*document.Error](err); ok {
		return c.m, bad.Problems
	}
	c.manifest(top)
	c.m.Warnings = top.Warnings()
	return c.m, top.Problems()
}
