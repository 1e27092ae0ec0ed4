package kaged

import (
	"slices"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// toolBaseName is the rule for the name of a tool without the name of its plugin:
// docs/protocols/kaged.md#the-manifest.
var toolBaseName = pattern.New(`^[a-z][a-z0-9_-]*$`)

func (c *checker) tools(e document.Value) {
	if !e.Is(document.List, "a list of tools") {
		return
	}
	seen := make(map[string]string)
	for _, item := range e.Items() {
		if t, ok := item.Table("a mapping with name, description and parameters_schema"); ok {
			c.m.Tools = append(c.m.Tools, c.tool(t, seen))
		}
	}
}

func (c *checker) tool(table *document.Table, seen map[string]string) Tool {
	name, description, parameters := table.Value("name"), table.Value("description"), table.Value("parameters_schema")
	name.Required()
	description.Required()
	parameters.Required()
	var t Tool
	if s, ok := name.Text(); ok {
		t.Name = s
		if !toolBaseName.MatchString(s) {
			name.Bad("", "must be one segment of lowercase letters, digits, _ and -, a letter first, got %s", schema.Cite(s))
		} else {
			distinct(seen, name, s)
		}
	}
	t.Description, _ = description.Filled()
	t.Parameters = c.schema(parameters)
	t.JSON = t.Parameters.JSON()
	table.EndWarning()
	return t
}

// configuration checks the two schemas and the knobs.
func (c *checker) configuration(top *document.Table) {
	config, system := top.Value("config_schema"), top.Value("system_config_schema")
	c.m.ConfigSchema = c.schema(config)
	c.m.SystemConfigSchema = c.schema(system)
	disjoint(config, system)
	c.knobs(top.Value("knobs"), config)
}

// disjoint complains about fields that are in both schemas: docs/protocols/kaged.md, row K42.
func disjoint(config, system document.Value) {
	names := properties(config).Names()
	own := properties(system)
	for _, name := range own.Names() {
		if slices.Contains(names, name) {
			own.Get(name).BadKey("", "is a field of config_schema too; a field belongs to one of them")
		}
	}
}

// properties returns the fields that a schema declares at its top.
func properties(e document.Value) document.Value {
	if !e.Present() {
		return e
	}
	return e.Get("properties")
}

// schema compiles a JSON Schema and reports its faults at their places.
func (c *checker) schema(e document.Value) *schema.Schema {
	if !e.Is(document.Map, "a mapping: a JSON Schema") {
		return nil
	}
	s, faults := schema.Compile(e.JSON())
	for _, f := range faults {
		e.Below(f.At).Bad("", "%s", f.Message)
	}
	if s == nil {
		return nil
	}
	for _, f := range s.Unchecked() {
		e.Below(f.At).Warn("", "%s", f.Message)
	}
	if t := e.Get("type"); t.Kind() == document.String && !t.Says("object") {
		t.Warn("", "no value can fit: the checked value is always an object")
	}
	return s
}
