package plugin

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// manifest prints what a host reads about the plugin before it starts it.
func (s *session) manifest(args []string) int {
	if len(args) != 1 {
		s.complain("say for which dialect: manifest kaged | mine | dotagent | scaffold | mcp")
		return exitUsage
	}
	text, err := s.plugin.Manifest(Dialect(args[0]), s.process.Program)
	if err != nil {
		s.complain("%v", err)
		return exitFailed
	}
	s.print(text)
	return exitOK
}

// Manifest returns the file that a dialect needs beside the plugin: manifest.yaml for kaged and
// mine-plugin.toml for mine. dotagent and scaffold need none, because they ask the plugin itself:
// for them Manifest returns the plugin's answer. For MCP it returns the entry for Patchbay's
// config.toml. program is the path of the plugin's program.
func (p *Plugin) Manifest(d Dialect, program string) ([]byte, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if wants[d] == "" {
		return nil, fmt.Errorf("there is no dialect %q; there are dotagent, mine, kaged, scaffold and mcp", d)
	}
	if !p.speaks(d) {
		return nil, p.unspoken(d)
	}
	switch d {
	case Kaged:
		return appendYAML(nil, p.kagedManifest(program), 0)
	case Mine:
		return p.mineManifest(program)
	case Dotagent:
		return indented(p.dotagentInfo())
	case Scaffold:
		return indented(p.scaffoldManifest())
	}
	whole, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "\n[[mcp]]\nname = %s\ncommand = %s\n", tomlString(p.name), tomlList(p.command0([]string{whole}))), nil
}

func indented(o object) ([]byte, error) {
	text, err := marshal(o)
	return append(text, '\n'), err
}

// command0 returns the command that starts the plugin.
func (p *Plugin) command0(otherwise []string) []string {
	if len(p.Program) > 0 {
		return p.Program
	}
	return otherwise
}

func (p *Plugin) kagedManifest(program string) object {
	m := object{{"name", p.name}, {"version", p.version}, {"kaged_api", kagedAPI}, {"description", p.description}}
	add := func(name string, value any, there bool) {
		if there {
			m = append(m, field{name, value})
		}
	}
	add("author", p.Author, p.Author != "")
	add("license", p.License, p.License != "")
	add("homepage", p.Homepage, p.Homepage != "")
	add("command", list(p.command0([]string{"./" + p.file(program)})), true)
	capabilities := p.kagedCapabilities()
	add("capabilities", list(capabilities), len(capabilities) > 0)
	add("methods", list(p.methodNames()), len(p.methods) > 0)
	add("notifications", list(p.notifications), len(p.notifications) > 0)
	hooks := p.hooks(Kaged)
	add("hooks", list(hooks), len(hooks) > 0)
	add("roles", list([]string{"observer", "compactor"}), p.Compactor && contains(hooks, "pre_compact"))
	tools := []any{}
	for _, t := range p.tools {
		tools = append(tools, object{{"name", t.name}, {"description", t.description}, {"parameters_schema", t.schema}})
	}
	add("tools", tools, len(tools) > 0)
	if p.config != nil {
		add("config_schema", p.config.schema, true)
	}
	if p.secrets != nil {
		add("system_config_schema", p.secrets.schema, true)
	}
	if knobs := p.knobs(); len(knobs) > 0 {
		add("knobs", knobs, true)
	}
	slowest := p.slowest(Kaged)
	add("hook_timeout_sec", int(min(max((slowest+time.Second-1)/time.Second, 1), 60)), slowest > 0)
	return m
}

// file returns the name of the plugin's program beside its manifest.
func (p *Plugin) file(program string) string {
	if program == "" {
		return p.name
	}
	return filepath.Base(program)
}

// knobs returns the controls of the config's fields that have a knob tag.
func (p *Plugin) knobs() object {
	out := object{}
	if p.config == nil {
		return out
	}
	properties, _ := p.config.schema.get("properties").(object)
	for _, f := range p.config.fields {
		schema, _ := properties.get(f.name).(object)
		if f.knob == "" || schema == nil {
			continue
		}
		knob := object{{"type", f.control(schema)}, {"label", f.knob}, {"binds_to", "config." + f.name}}
		if doc := schema.get("description"); doc != nil {
			knob = append(knob, field{"description", doc})
		}
		if value := schema.get("default"); value != nil {
			knob = append(knob, field{"default", value})
		}
		out = append(out, field{f.name, knob})
	}
	return out
}

// control returns the type of a knob.
func (f settingField) control(schema object) string {
	switch kind := schema.get("type"); {
	case f.kind != "":
		return f.kind
	case schema.get("enum") != nil:
		return "enum"
	case kind == "boolean":
		return "boolean"
	case kind == "integer":
		return "int_range"
	case kind == "number":
		return "range"
	}
	return "text"
}

// mineManifest returns mine-plugin.toml.
func (p *Plugin) mineManifest(program string) ([]byte, error) {
	if p.Author == "" {
		return nil, errors.New("mine requires an author: set Author")
	}
	out := fmt.Appendf(nil, "[plugin]\nname = %s\nversion = %s\ndescription = %s\nauthor = %s\n", tomlString(p.name), tomlString(p.version),
		tomlString(p.description), tomlString(p.Author))
	if p.License != "" {
		out = fmt.Appendf(out, "license = %s\n", tomlString(p.License))
	}
	entry := p.file(program)
	if len(p.Program) == 1 {
		entry = p.Program[0]
	}
	out = fmt.Appendf(out, "protocol_version = \"1.0.0\"\nentrypoint = %s\n", tomlString(strings.TrimPrefix(entry, "./")))
	for _, n := range natives {
		if handlers := p.handlers[n.point]; n.dialect == Mine && len(handlers) > 0 {
			out = appendMineHook(out, n, handlers)
		}
	}
	for _, c := range p.commands {
		out = fmt.Appendf(out, "\n[[commands]]\nname = %s\ndescription = %s\n", tomlString(c.name), tomlString(c.description))
		if c.args != "" {
			out = fmt.Appendf(out, "args = %s\n", tomlString(c.args))
		}
		if c.userStdin {
			out = append(out, "stdin = \"user\"\n"...)
		}
	}
	return append(out, p.minePermissions()...), nil
}

// appendMineHook writes one entry for a stage, however many handlers it has: the host does not say
// which entry it calls, so two entries would call every handler twice. The handlers' own patterns
// are checked when they are called.
func appendMineHook(out []byte, n native, handlers []handler) []byte {
	pattern, mode := handlers[0].match, "transform"
	var slowest time.Duration
	for _, h := range handlers {
		slowest = max(slowest, h.timeout)
		if h.match != pattern {
			pattern = "*"
		}
	}
	if pattern == "" {
		pattern = "*"
	}
	if n.hook == "notify" {
		mode = "notify"
	}
	out = fmt.Appendf(out, "\n[[hooks]]\ncommand = %s\nstage = %s\nmode = %s\n", tomlString(pattern), tomlString(n.hook), tomlString(mode))
	if slowest > 0 {
		out = fmt.Appendf(out, "timeout = %s\n", tomlString(slowest.String()))
	}
	return out
}

// minePermissions translates capabilities to mine's permissions, which are wider: the network is
// all or nothing, and a directory is for reading and writing.
func (p *Plugin) minePermissions() []byte {
	var out []byte
	var directories []string
	network := false
	for _, c := range p.capabilities {
		if strings.HasPrefix(c, "net:") && c != "net:[]" {
			network = true
		}
		for _, prefix := range []string{"read:fs:", "write:fs:"} {
			if path, ok := strings.CutPrefix(c, prefix); ok && !contains(directories, path) {
				directories = append(directories, path)
			}
		}
	}
	if p.usesState {
		directories = append(directories, "~/.local/share/"+p.name)
	}
	if p.config != nil {
		directories = append(directories, "~/.config/"+p.name)
	}
	if network {
		out = append(out, "network = true\n"...)
	}
	if len(directories) > 0 {
		out = fmt.Appendf(out, "filesystem = %s\n", tomlList(directories))
	}
	if len(p.variables) > 0 {
		out = fmt.Appendf(out, "env_vars = %s\n", tomlList(p.variables))
	}
	if len(out) == 0 {
		return nil
	}
	return append([]byte("\n[permissions]\n"), out...)
}

// tomlString writes a TOML string: a JSON string, with DEL escaped, as TOML requires.
func tomlString(s string) string {
	return strings.ReplaceAll(string(appendString(nil, s)), "\x7f", `\u007f`)
}

func tomlList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = tomlString(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// appendYAML writes an object in YAML's block style.
func appendYAML(out []byte, o object, indent int) ([]byte, error) {
	for _, f := range o {
		out = append(appendIndent(out, indent), yamlKey(f.name)...)
		var err error
		if out, err = appendYAMLValue(append(out, ':'), f.value, indent+2); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendYAMLValue writes the value after a key, line end included.
func appendYAMLValue(out []byte, v any, indent int) ([]byte, error) {
	switch v := v.(type) {
	case object:
		if len(v) > 0 {
			return appendYAML(append(out, '\n'), v, indent)
		}
	case []any:
		if len(v) > 0 && isObject(v[0]) {
			return appendYAMLList(append(out, '\n'), v, indent)
		}
	}
	if s, ok := v.(string); ok && plainText.MatchString(s) && !yamlWord(s) {
		return append(append(append(out, ' '), s...), '\n'), nil
	}
	out, err := appendValue(append(out, ' '), v) // JSON is YAML
	return append(out, '\n'), err
}

func isObject(v any) bool {
	o, ok := v.(object)
	return ok && len(o) > 0
}

func appendYAMLList(out []byte, items []any, indent int) ([]byte, error) {
	for _, item := range items {
		start := len(out)
		var err error
		if out, err = appendYAML(out, item.(object), indent+2); err != nil {
			return nil, err
		}
		out[start+indent] = '-' // the first line of the item begins with its hyphen
	}
	return out, nil
}

func appendIndent(out []byte, n int) []byte {
	for range n {
		out = append(out, ' ')
	}
	return out
}

var (
	plainKey  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	plainText = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9 ,._/()-]*[A-Za-z0-9.)]|[0-9]+\.[0-9]+\.[0-9]+)$`)
)

// yamlKey quotes a name, unless it is a plain word that has no other meaning in YAML.
func yamlKey(name string) string {
	if !plainKey.MatchString(name) || yamlWord(name) {
		return strconv.Quote(name)
	}
	return name
}

// yamlWord reports whether a word is a value in YAML.
func yamlWord(word string) bool {
	return contains([]string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(word))
}
