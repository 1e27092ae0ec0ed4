package scaffold

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// namePattern is the rule for names in docs/protocols/scaffold.md, row S30.
var namePattern = pattern.New(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)

// A manifest is a plugin's answer to initialize.
type manifest struct {
	dialect.Info
	toolNames map[string]string // full name to the plugin's own
	warnings  []string
	lost      []string // declarations that cannot be used
	misspelt  []string // names in hooks that no hook has
}

// parseManifest reads the answer to initialize. Only the name is required. A faulty optional field
// is ignored with a warning, so that the rest of the plugin can be used:
// docs/protocols/scaffold.md, rows S29 and S31.
func parseManifest(result json.RawMessage) (*manifest, error) {
	var w manifestJSON
	if err := json.Unmarshal(result, &w); err != nil {
		return nil, fmt.Errorf("the manifest is not an object: %.80q", result)
	}
	m := &manifest{toolNames: make(map[string]string)}
	if w.Name == nil && w.MCP != nil {
		return nil, errors.New("it answers as an MCP server does: use --dialect mcp to try it, and [[mcp]] in config.toml to run it")
	}
	fields, err := rawjson.ParseForeign(result)
	if err != nil {
		return nil, fmt.Errorf("the manifest is invalid: %w", err)
	}
	if err := m.readName(w.Name, fields); err != nil {
		return nil, err
	}
	m.warnOfUnknown("the manifest", fields, manifestFields)
	m.Version, m.Priority = "0.0.0", hook.DefaultPriority // docs/protocols/scaffold.md, row S29
	m.optional("version", w.Version, &m.Version)
	m.optional("description", w.Description, &m.Description)
	m.readHooks(w.Hooks)
	m.readTools(w.Tools)
	m.readPriority(w.Priority)
	return m, nil
}

// warnOfUnknown warns of fields that the protocol does not know. One may be a misspelt list of
// hooks.
func (m *manifest) warnOfUnknown(where string, o rawjson.Object, known []string) {
	for _, note := range dialect.UnknownFields(where, o, known) {
		m.warn("%s", note)
	}
}

func (m *manifest) readName(raw json.RawMessage, fields rawjson.Object) error {
	if raw == nil {
		for _, f := range fields {
			if nearest.Word(f.Name, manifestFields) == "name" {
				return dialect.WithFix(fmt.Errorf("the manifest has no name, but the field %.80q", f.Name), "did you mean \"name\"?")
			}
		}
		return dialect.WithFix(errors.New("the manifest has no name"), "add \"name\" to its answer to initialize")
	}
	if err := json.Unmarshal(raw, &m.Name); err != nil {
		return fmt.Errorf("the manifest's name is not a string: %.80s", raw)
	}
	if !namePattern.MatchString(m.Name) {
		return dialect.WithFix(fmt.Errorf("the name %.80q is not allowed: a letter, then at most 63 letters, digits and hyphens, no underscore", m.Name),
			"correct \"name\" in its answer to initialize")
	}
	return nil
}

// optional decodes a field that may be missing, null or faulty. It returns false if it is faulty.
func (m *manifest) optional(field string, raw json.RawMessage, into any) (ok bool) {
	if rawjson.Missing(raw) {
		return true
	}
	if err := json.Unmarshal(raw, into); err != nil {
		say := m.warn
		if field == "hooks" || field == "tools" { // without this field none of them can be used
			say = m.lose
		}
		say("%s is ignored: %s", field, dialect.JSONMismatch(err))
		return false
	}
	return true
}

// maxWarnings and maxWarning limit the warnings about one manifest, whose length the plugin
// chooses. Each warning is a line of the log.
const (
	maxWarnings = 50
	maxWarning  = 500 // bytes
)

func (m *manifest) warn(format string, args ...any) { complain(&m.warnings, format, args...) }

// lose records something that the plugin declares and that cannot be used.
func (m *manifest) lose(format string, args ...any) { complain(&m.lost, format, args...) }

func complain(list *[]string, format string, args ...any) {
	switch len(*list) {
	case maxWarnings:
	case maxWarnings - 1:
		*list = append(*list, "there are more problems, which are left out")
	default:
		*list = append(*list, excerpt.Of(fmt.Sprintf(format, args...), maxWarning))
	}
}

func (m *manifest) readHooks(raw json.RawMessage) {
	var list []json.RawMessage
	m.optional("hooks", raw, &list)
	for i, entry := range list {
		var name string
		switch err := json.Unmarshal(entry, &name); {
		case err != nil || !isString(entry):
			m.lose("hooks[%d] is left out: %s where the name of a hook belongs", i, jsonType(entry))
		case translationOf(name) == nil:
			m.warn("there is no hook %.80q; %s", name, nearest.Suggest(name, hookNames()))
			m.misspelt = append(m.misspelt, name)
		case slices.Contains(m.Hooks, name):
			m.warn("the hook %s is listed twice", name)
		default:
			m.Hooks = append(m.Hooks, name)
		}
	}
}

// noHook returns the error of a connection to a hook that the plugin does not have. If the plugin
// has misspelt its name, the fix says so.
func (m *manifest) noHook(name string) error {
	err := dialect.NoHook(m.Name, name, m.Hooks)
	if near := nearest.Word(name, m.misspelt); near != "" && translationOf(name) != nil {
		return dialect.WithFix(errors.Unwrap(err), fmt.Sprintf("its answer to initialize lists %q, which is no hook: write %q there", near, name))
	}
	return err
}

func (m *manifest) readPriority(raw json.RawMessage) {
	number := float64(m.Priority) // some languages write 500.0
	m.optional("priority", raw, &number)
	if math.Abs(number) > math.MaxInt32 {
		m.warn("priority is ignored: %v is out of range", number)
		return
	}
	m.Priority = int(number)
}

func (m *manifest) readTools(raw json.RawMessage) {
	var list []json.RawMessage
	m.optional("tools", raw, &list)
	for i, entry := range list {
		var t toolJSON
		if err := json.Unmarshal(entry, &t); err != nil {
			m.lose("tools[%d] is left out: it is not a tool: %s", i, dialect.JSONMismatch(err))
			continue
		}
		if fields, err := rawjson.Parse(entry); err == nil {
			m.warnOfUnknown(fmt.Sprintf("tools[%d]", i), fields, toolFields)
		}
		m.addTool(i, t)
	}
}

// addTool adds a tool under its full name: docs/protocols/scaffold.md, row S40.
func (m *manifest) addTool(i int, t toolJSON) {
	full := "plugin_" + m.Name + "_" + t.Name
	if t.Name == "" {
		m.lose("tools[%d] is left out: it has no name", i)
		return
	}
	if _, taken := m.toolNames[full]; taken {
		m.lose("tools[%d] is left out: there are two tools %q", i, t.Name)
		return
	}
	schema, err := parameterSchema(t.Parameters)
	if err != nil {
		m.lose("tools[%d] is left out: %v", i, err)
		return
	}
	for _, p := range t.Parameters {
		if p.Type != "" && schemaType(p.Type) == "" {
			m.warn("tools[%d]: the parameter %.80q takes anything: there is no type %.80q; %s", i, p.Name, p.Type, nearest.Suggest(p.Type, schemaTypes))
		}
	}
	m.toolNames[full] = t.Name
	m.Tools = append(m.Tools, dialect.Tool{Name: full, Plugin: m.Name, Dialect: Name,
		Description: t.Description, Parameters: schema})
}

// parameterSchema turns the protocol's list of parameters into JSON Schema.
func parameterSchema(parameters []parameterJSON) (json.RawMessage, error) {
	type property struct {
		Type        string `json:"type,omitempty"`
		Description string `json:"description,omitempty"`
	}
	schema := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
	}{Type: "object", Properties: make(map[string]property)}
	for _, p := range parameters {
		if p.Name == "" {
			return nil, fmt.Errorf("a parameter has no name")
		}
		schema.Properties[p.Name] = property{Type: schemaType(p.Type), Description: p.Description}
		if p.Required {
			schema.Required = append(schema.Required, p.Name)
		}
	}
	return json.Marshal(schema)
}

// schemaTypes are the types of parameters.
var schemaTypes = []string{"string", "number", "integer", "boolean", "object", "array"}

// schemaType returns t if JSON Schema has that type, otherwise "", which allows any value.
func schemaType(t string) string {
	if slices.Contains(schemaTypes, t) {
		return t
	}
	return ""
}
