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

// A Manifest is what a plugin's manifest.yaml declares, with the defaults of the seed's table
// filled in.
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

	ConfigSchema       *schema.Schema // nil where there is none
	SystemConfigSchema *schema.Schema // the same; for the operator's secrets
	Knobs              []dialect.Knob // in the order of the file

	ShutdownTimeout time.Duration
	HealthInterval  time.Duration
	HookTimeout     time.Duration

	// Warnings are what is odd but not wrong, such as a key this host does not know: manifests in
	// the world carry keys of their tools and of versions to come, and a plugin is not to be
	// refused for them.
	Warnings []document.Problem
}

// A Tool is one entry of a manifest's tools.
type Tool struct {
	Name        string // one segment; the host prefixes the plugin's name
	Description string
	Parameters  *schema.Schema  // parameters_schema, compiled
	JSON        json.RawMessage // the same as written
}

// Compactor reports whether the plugin asks to do the compacting, rather than to be told of it.
func (m *Manifest) Compactor() bool { return slices.Contains(m.Roles, roleCompactor) }

// ParseManifest reads a manifest and reports every violated field at once, in the order of the
// file. The manifest is never nil, but usable only where there are no problems; until then it holds
// what could be read, so that a report can name the plugin.
//
//	ParseManifest
//	  document.YAML     bytes to values; bounded, without aliases
//	  checker.manifest  one method for each part of the seed's table
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
