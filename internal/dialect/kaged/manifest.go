package kaged

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A Manifest is what a plugin's manifest.yaml declares, with the defaults of
// the seed's table filled in.
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

	// Warnings are what is odd but not wrong, such as a key this host does not
	// know: manifests in the world carry keys of their tools and of versions to
	// come, and a plugin is not to be refused for them.
	Warnings []Problem
}

// A Tool is one entry of a manifest's tools.
type Tool struct {
	Name        string // one segment; the host prefixes the plugin's name
	Description string
	Parameters  *schema.Schema  // parameters_schema, compiled
	JSON        json.RawMessage // the same as written
}

// Compactor reports whether the plugin asks to do the compacting, rather than
// to be told of it.
func (m *Manifest) Compactor() bool { return slices.Contains(m.Roles, roleCompactor) }

// A Problem is one violated field of a manifest, with where it stands.
type Problem struct {
	Field   string // e.g. tools[0].name; "" where it is about the whole file
	Line    int    // from 1
	Column  int    // from 1, in characters
	Message string
}

func (p Problem) String() string {
	if p.Field == "" {
		return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
	}
	return fmt.Sprintf("%d:%d: %s: %s", p.Line, p.Column, p.Field, p.Message)
}

// ParseManifest reads a manifest and reports every violated field at once, in
// the order of the file. The manifest is never nil, but usable only where there
// are no problems; until then it holds what could be read, so that a report can
// name the plugin.
//
//	ParseManifest
//	  readYAML          bytes to yamlNodes; bounded, without aliases
//	  checker.manifest  one method for each part of the seed's table
//	    schema.Compile  config_schema, system_config_schema, parameters_schema
//	    capability.Parse
//	    checker.knobs
func ParseManifest(data []byte) (*Manifest, []Problem) {
	c := &checker{m: &Manifest{Env: map[string]string{}}}
	if root := readYAML(data, c); root != nil {
		c.manifest(entry{at: root.at, node: root})
	}
	c.m.Warnings = inOrder(c.m.Warnings)
	return c.m, inOrder(c.problems)
}

// maxProblems bounds a report. No author mends more in one go, and a file that
// is not a manifest at all can have thousands.
const maxProblems = 200

// inOrder sorts problems by where they stand, and cuts the list.
func inOrder(list []Problem) []Problem {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(list) <= maxProblems {
		return list
	}
	rest := list[maxProblems]
	rest.Field, rest.Message = "", fmt.Sprintf("and %d more from here on", len(list)-maxProblems)
	return append(list[:maxProblems:maxProblems], rest)
}
