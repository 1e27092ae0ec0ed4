package mine

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// namePattern and envPattern: the first is the rulings'; the second keeps a
// manifest from asking for more than it names, such as "*".
var (
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	envPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// A manifest is what a mine-plugin.toml declares.
type manifest struct {
	name            string
	version         string
	description     string
	author          string
	license         string
	protocolVersion string
	entrypoint      string // relative to the plugin's folder
	hooks           []registration
	commands        []dialect.CommandDoc
	permissions     permissions
}

// A registration is one entry of hooks.
type registration struct {
	pattern string // a glob over commands
	stage   string
	timeout time.Duration
	tells   bool // its mode is notify: it is no guard, whatever its stage
}

// permissions are what the plugin asks for. Only the environment is held to
// them here; the rest is reported, and enforced where the host has a sandbox.
type permissions struct {
	network     bool
	filesystem  []string
	store       bool
	configRead  bool
	configWrite bool
	envVars     []string
}

// parseManifest reads a manifest and reports every problem at once, in the order
// of the file. The manifest is usable only where there are none; until then it
// holds what could be read, so that a report can name the plugin and its hooks
// are known. It is nil where the file is not TOML.
func parseManifest(file string, data []byte) (m *manifest, problems, warnings []dialect.Problem) {
	top, r := read(data)
	if top != nil {
		m = &manifest{}
		m.readPlugin(top.table("plugin"))
		m.readHooks(top.tables("hooks"))
		m.readCommands(top.tables("commands"))
		m.readPermissions(top.table("permissions"))
		top.end()
	}
	return m, inOrder(file, r.problems), inOrder(file, r.warnings)
}

// readPlugin: the rulings, "[plugin] name, version, description, author,
// protocol_version (all required), license, min_mine_version, entrypoint".
func (m *manifest) readPlugin(t *table) {
	m.name = t.required("name")
	if m.name != "" && !namePattern.MatchString(m.name) {
		t.problem("plugin.name", "", "%q is not allowed: lower-case letters and digits, a letter first, single hyphens between", cut(m.name))
	}
	m.version = t.required("version")
	m.description = t.required("description")
	m.author = t.required("author")
	m.protocolVersion = t.required("protocol_version")
	m.checkVersion(t)
	m.license = t.text("license")
	t.text("min_mine_version") // a version of another program: nothing to hold it against
	m.entrypoint = cmp.Or(t.text("entrypoint"), programPrefix+m.name)
	if !filepath.IsLocal(m.entrypoint) {
		t.problem("plugin.entrypoint", "", "%q leads out of the plugin's folder", cut(m.entrypoint))
	}
	t.end()
}

// checkVersion: seed 001, "Plugins should check this field and fail gracefully
// if the major version is unsupported". So does the host.
func (m *manifest) checkVersion(t *table) {
	if m.protocolVersion == "" {
		return
	}
	major, _, _ := strings.Cut(m.protocolVersion, ".")
	own, _, _ := strings.Cut(protocolVersion, ".")
	if _, err := strconv.ParseUint(major, 10, 16); err != nil {
		t.problem("plugin.protocol_version", "", "%q is not a version", cut(m.protocolVersion))
	} else if major != own {
		t.problem("plugin.protocol_version", "install a release of the plugin that is made for protocol "+protocolVersion,
			"unsupported protocol version %q: this host speaks %s", cut(m.protocolVersion), protocolVersion)
	}
}

func (m *manifest) readHooks(tables []*table) {
	for _, t := range tables {
		r := registration{pattern: t.required("command")}
		_, bad := path.Match(r.pattern, "")
		if bad != nil {
			t.problem(join(t.path, "command"), "close the bracket, or write \\[ for a bracket itself", "%q is not a pattern", cut(r.pattern))
		}
		r.stage = t.word("stage", stages)
		mode := t.word("mode", []string{modeTransform, modeNotify})
		if r.stage != "" && mode != "" && mode != modeOf(r.stage) {
			t.problem(t.path, pairFix(r.stage), "the stage %s needs the mode %s, got %s", r.stage, modeOf(r.stage), mode)
		}
		r.tells = mode == modeNotify
		r.timeout = readTimeout(t, r.stage)
		t.end()
		if r.stage != "" && r.pattern != "" && bad == nil { // where and for what it is asked can be read
			m.hooks = append(m.hooks, r)
		}
	}
	// "Transform hooks of one stage run in the order of <plugin>:<command pattern>:<stage>."
	slices.SortStableFunc(m.hooks, func(a, b registration) int {
		return strings.Compare(a.pattern+":"+a.stage, b.pattern+":"+b.stage)
	})
}

// pairFix is what to write in place of a stage and a mode that do not go together.
func pairFix(stage string) string {
	if stage == stageNotify {
		return `write mode = "notify"`
	}
	return `write stage = "notify" for a hook that is only told, or mode = "transform"`
}

// readTimeout: the rulings, "a Go duration; one that does not parse is an error at load".
func readTimeout(t *table, stage string) time.Duration {
	text := t.text("timeout")
	if text == "" {
		if modeOf(stage) == modeNotify {
			return notifyTimeout
		}
		return transformTimeout
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.problem(join(t.path, "timeout"), `write a number with its unit, as in "500ms", "5s" or "1m30s"`, "%q is not a duration above zero", cut(text))
	}
	return d
}

func (m *manifest) readCommands(tables []*table) {
	for _, t := range tables {
		c := dialect.CommandDoc{Name: t.required("name"), Description: t.text("description")}
		switch {
		case strings.ContainsAny(c.Name, " \t\n") || strings.HasPrefix(c.Name, "-"):
			t.problem(join(t.path, "name"), "write one word that does not begin with a hyphen", "%q is not a word that can be typed as a command", cut(c.Name))
		case c.Name != "" && slices.Contains(m.commandNames(), c.Name):
			t.problem(join(t.path, "name"), "rename one of them, or remove it", "there are two commands %q", cut(c.Name))
		}
		if c.Description == "" {
			t.warn(t.path, `add description = "…": a line of help`, "has no description")
		}
		c.Args = t.text("args") // a line of help: "Flag parsing is the plugin's responsibility"
		t.end()
		m.commands = append(m.commands, c)
	}
}

// commandNames are the commands' names, in their order.
func (m *manifest) commandNames() []string {
	names := make([]string, len(m.commands))
	for i, c := range m.commands {
		names[i] = c.Name
	}
	return names
}

func (m *manifest) readPermissions(t *table) {
	m.permissions = permissions{
		network:     t.flag("network"),
		filesystem:  t.texts("filesystem"),
		store:       t.flag("store"),
		configRead:  t.flag("config_read"),
		configWrite: t.flag("config_write"),
		envVars:     t.texts("env_vars"),
	}
	for i, name := range m.permissions.envVars {
		if !envPattern.MatchString(name) {
			t.problem("permissions.env_vars["+strconv.Itoa(i)+"]", "", "%q is not the name of one variable", cut(name))
		}
	}
	t.end()
}

// info is what the manifest declares, in the hub's words.
func (m *manifest) info() *dialect.Info {
	return &dialect.Info{Name: m.name, Version: m.version, Description: m.description, Hooks: m.stages(),
		Commands: m.commandNames(), CommandDocs: slices.Clone(m.commands), Author: m.author, License: m.license, Protocol: m.protocolVersion,
		Capabilities: m.permissions.names(), AnyProgram: true, Priority: hook.DefaultPriority}
}

// stages are those the plugin has a hook in, in the order of a command.
func (m *manifest) stages() []string {
	var have []string
	for _, stage := range stages {
		if len(m.at(stage)) > 0 {
			have = append(have, stage)
		}
	}
	return have
}

// at are the hooks of one stage.
func (m *manifest) at(stage string) []registration {
	var at []registration
	for _, r := range m.hooks {
		if r.stage == stage {
			at = append(at, r)
		}
	}
	return at
}

// names are the permissions as a list, for those who show them.
func (p *permissions) names() []string {
	var names []string
	for _, flag := range []struct {
		name string
		on   bool
	}{{"network", p.network}, {"store", p.store}, {"config_read", p.configRead}, {"config_write", p.configWrite}} {
		if flag.on {
			names = append(names, flag.name)
		}
	}
	for _, dir := range p.filesystem {
		names = append(names, "filesystem:"+dir)
	}
	for _, name := range p.envVars {
		names = append(names, "env:"+name)
	}
	return names
}

// matches tells whether a hook is for a command. The rulings: "a glob, * also
// crosses dots"; it crosses slashes too, which are as good as dots in a name.
func matches(pattern, command string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(command))
	return ok && err == nil
}
