package kaged

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/patchbay-dev/patchbay/internal/schema"
)

// "Each entry declares `name` (single-segment, lowercase; auto-prefixed with
// plugin name at registration), `description`, and `parameters_schema` (JSON
// Schema)."
var (
	toolKeys     = []string{"name", "description", "parameters_schema"}
	toolBaseName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
)

func (c *checker) tools(e entry) {
	if !c.is(e, kindList, "a list of tools") {
		return
	}
	seen := make(map[string]string)
	for _, item := range e.list() {
		if c.is(item, kindMap, "a mapping with name, description and parameters_schema") {
			c.m.Tools = append(c.m.Tools, c.tool(item, seen))
		}
	}
}

func (c *checker) tool(e entry, seen map[string]string) Tool {
	c.unknownKeys(e, toolKeys)
	name, description, parameters := e.get("name"), e.get("description"), e.get("parameters_schema")
	c.required(name)
	c.required(description)
	c.required(parameters)
	var t Tool
	if s, ok := c.text(name); ok {
		t.Name = s
		if !toolBaseName.MatchString(s) {
			c.problem(name, "must be one segment of lowercase letters, digits, _ and -, a letter first, got %s", schema.Cite(s))
		} else {
			c.distinct(seen, name, s)
		}
	}
	t.Description, _ = c.filled(description)
	t.Parameters = c.schema(parameters)
	t.JSON = t.Parameters.JSON()
	return t
}

// configuration checks the two schemas and the knobs that turn what is in the first.
func (c *checker) configuration(top entry) {
	config, system := top.get("config_schema"), top.get("system_config_schema")
	c.m.ConfigSchema = c.schema(config)
	c.m.SystemConfigSchema = c.schema(system)
	c.disjoint(config, system)
	c.knobs(top.get("knobs"), config)
}

// disjoint: "Field names must be disjoint from config_schema."
func (c *checker) disjoint(config, system entry) {
	names := properties(config)
	for _, f := range properties(system) {
		if !slices.ContainsFunc(names, func(g yamlField) bool { return g.name == f.name }) {
			continue
		}
		c.problemAt(f.at, schema.FieldPath(system.field+".properties", f.name),
			"is a field of config_schema too; a field belongs to one of them")
	}
}

// properties returns the fields a schema names at its top.
func properties(e entry) []yamlField {
	if !e.present() || e.node.kind != kindMap {
		return nil
	}
	p := e.node.field("properties")
	if p == nil || p.value.kind != kindMap {
		return nil
	}
	return p.value.fields
}

// schema compiles a JSON Schema and reports what is wrong with it where it stands.
func (c *checker) schema(e entry) *schema.Schema {
	if !c.is(e, kindMap, "a mapping: a JSON Schema") {
		return nil
	}
	s, faults := schema.Compile(e.node.appendJSON(nil))
	for _, f := range faults {
		c.problem(below(e, f.At), "%s", f.Message)
	}
	if s == nil {
		return nil
	}
	for _, f := range s.Unchecked() {
		c.warn(below(e, f.At), "%s", f.Message)
	}
	if t := e.get("type"); t.present() && t.node.kind == kindString && t.node.text != "object" {
		c.warn(t, "no value will fit: what is checked is always an object")
	}
	return s
}

// below follows a path of keys and indexes down from e, as far as it leads.
func below(e entry, path []string) entry {
	for _, step := range path {
		switch e.node.kind {
		case kindMap:
			if e.node.field(step) == nil {
				return e
			}
			e = e.get(step)
		case kindList:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(e.node.items) {
				return e
			}
			e = entry{itemPath(e.field, i), e.node.items[i].at, e.node.items[i]}
		default:
			return e
		}
	}
	return e
}
