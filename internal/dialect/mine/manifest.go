package mine

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// mostManifest limits the file. Manifests are written by hand, and have kilobytes.
const mostManifest = 256 << 10

// namePattern is the pattern of names in docs/protocols/mine.md, row M24. envPattern keeps a
// manifest from asking for more variables than it names, for example with "*".
var (
	namePattern = pattern.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	envPattern  = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
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
	unread          bool // the file declares hooks that are not in hooks, because they cannot be read
	commands        []dialect.CommandDoc
	permissions     permissions
	misspelt        []dialect.Problem // keys that were ignored, and that resemble others: one may be a hook
}

// A registration is one entry of hooks.
type registration struct {
	pattern string // a glob over commands
	stage   string
	timeout time.Duration
	tells   bool // its mode is notify, so it cannot refuse, whatever its stage
}

// permissions are what the plugin asks for. This package enforces env_vars; the sandbox enforces
// the others, if the host has one.
type permissions struct {
	network     bool
	filesystem  []string
	store       bool
	configRead  bool
	configWrite bool
	envVars     []string
}

// parseManifest reads a manifest and reports every problem at once, in the order of the file. The
// manifest may be used only if there are no problems. Otherwise it holds what could be read, so
// that a report can name the plugin and its hooks are known. It is nil if the file is not TOML.
func parseManifest(file string, data []byte) (m *manifest, problems, warnings []dialect.Problem) {
	top, err := document.TOML(file, data)
	if err != nil {
		return nil, dialect.NoManifest(err), nil
	}
	m = &manifest{}
	m.readPlugin(top.Table("plugin"))
	tables := top.Tables("hooks")
	m.readHooks(tables)
	m.unread = m.unread || top.Has("hooks") && len(tables) == 0
	m.readCommands(top.Tables("commands"))
	m.readPermissions(top.Table("permissions"))
	top.EndWarning()
	m.misspelt = dialect.Problems(slices.DeleteFunc(slices.Clone(top.Warnings()), func(p document.Problem) bool { return !p.Misspelt }))
	return m, dialect.Problems(top.Problems()), dialect.Problems(top.Warnings())
}

// endWarning warns of the unknown keys of a table. In TOML a key below [plugin] belongs to that
// table, so hooks may be there by mistake.
func endWarning(t *document.Table) {
	t.Elsewhere("hooks", "write each hook below a line [[hooks]]: here it is never called")
	t.EndWarning()
}

// readPlugin reads the table [plugin]: docs/protocols/mine.md, row M1.
func (m *manifest) readPlugin(t *document.Table) {
	m.name = t.Required("name")
	if m.name != "" && !namePattern.MatchString(m.name) {
		t.Bad("name", `write a name such as "no-force", and give the folder the same name`,
			"%q is not allowed: lower-case letters and digits, a letter first, single hyphens between", cut(m.name))
	}
	m.version = t.Required("version")
	m.description = t.Required("description")
	m.author = t.Required("author")
	m.protocolVersion = t.Required("protocol_version")
	m.checkVersion(t)
	m.license = t.Text("license", "")
	t.Text("min_mine_version", "") // a version of another program; not checked
	m.entrypoint = cmp.Or(t.Text("entrypoint", ""), programPrefix+m.name)
	if !filepath.IsLocal(m.entrypoint) {
		t.Bad("entrypoint", "move the program into the folder, and write its name", "%q leads out of the plugin's folder", cut(m.entrypoint))
	}
	endWarning(t)
}

// checkVersion refuses a manifest for another major version of the protocol:
// docs/protocols/mine.md, row M29.
func (m *manifest) checkVersion(t *document.Table) {
	if m.protocolVersion == "" {
		return
	}
	major, _, _ := strings.Cut(m.protocolVersion, ".")
	own, _, _ := strings.Cut(protocolVersion, ".")
	if _, err := strconv.ParseUint(major, 10, 16); err != nil {
		t.Bad("protocol_version", "write protocol_version = \""+protocolVersion+"\"", "%q is not a version", cut(m.protocolVersion))
	} else if major != own {
		t.Bad("protocol_version", upgrade, "unsupported protocol version %q: this host speaks %s", cut(m.protocolVersion), protocolVersion)
	}
}

func (m *manifest) readHooks(tables []*document.Table) {
	for _, t := range tables {
		r := registration{pattern: t.Required("command")}
		_, bad := path.Match(r.pattern, "")
		if bad != nil {
			t.Bad("command", `close the bracket; for a bracket itself write a backslash before it, in single quotes: '\['`, "%q is not a pattern", cut(r.pattern))
		}
		warnOfPattern(t, r.pattern)
		r.stage = word(t, "stage", stages...)
		mode := word(t, "mode", modeTransform, modeNotify)
		if r.stage != "" && mode != "" && mode != modeOf(r.stage) {
			t.Self.Bad(pairFix(r.stage), "the stage %s needs the mode %s, got %s", r.stage, modeOf(r.stage), mode)
		}
		r.tells = mode == modeNotify
		r.stage = cmp.Or(r.stage, likelyStage(mode))
		r.timeout = readTimeout(t, r.stage)
		endWarning(t)
		if r.pattern == "" || bad != nil { // the commands that it is for are unknown
			m.unread = true
			continue
		}
		m.hooks = append(m.hooks, r)
	}
	// The order of docs/protocols/mine.md, row M37.
	slices.SortStableFunc(m.hooks, func(a, b registration) int {
		return strings.Compare(a.pattern+":"+a.stage, b.pattern+":"+b.stage)
	})
}

// likelyStage returns the stage of a hook whose stage is missing or misspelt. The manifest has a
// fault, so the plugin is never called: a hook that may be a guard refuses the commands that it
// matches, and a hook of mode notify causes a warning.
func likelyStage(mode string) string {
	if mode == modeNotify {
		return stageNotify
	}
	return stagePreexec
}

// pairFix returns the fix for a stage and a mode that do not go together.
func pairFix(stage string) string {
	if stage == stageNotify {
		return `write mode = "notify"`
	}
	return `write stage = "notify" for a hook that cannot refuse, or mode = "transform"`
}

// word reads a required string that must be one of allowed.
func word(t *document.Table, name string, allowed ...string) string {
	if t.Required(name) == "" {
		return ""
	}
	return document.OneOf(t, name, "", allowed...)
}

// readTimeout reads a Go duration. One that does not parse is a fault of the manifest:
// docs/protocols/mine.md, row M28.
func readTimeout(t *document.Table, stage string) time.Duration {
	otherwise := transformTimeout
	if modeOf(stage) == modeNotify {
		otherwise = notifyTimeout
	}
	return cmp.Or(t.Duration("timeout"), otherwise)
}

func (m *manifest) readCommands(tables []*document.Table) {
	for _, t := range tables {
		c := dialect.CommandDoc{Name: t.Required("name"), Description: t.Text("description", "")}
		switch {
		case strings.ContainsAny(c.Name, " \t\n") || strings.HasPrefix(c.Name, "-"):
			t.Bad("name", "write one word that does not begin with a hyphen", "%q is not a word that can be typed as a command", cut(c.Name))
		case c.Name != "" && slices.Contains(m.commandNames(), c.Name):
			t.Bad("name", "rename one of them, or remove it", "there are two commands %q", cut(c.Name))
		}
		if c.Description == "" {
			t.Self.Warn(`add description = "…": a line of help`, "has no description")
		}
		c.Args = t.Text("args", "") // a line of help; the plugin itself parses flags
		c.Stdin = document.OneOf(t, "stdin", "", stdinUser)
		endWarning(t)
		m.commands = append(m.commands, c)
	}
}

// stdinUser is the value of stdin for a command that reads the user's stdin instead of its
// invocation: docs/decisions/0019-stdin-of-commands.md.
const stdinUser = "user"

// readsUser reports whether a command reads the user's stdin.
func (m *manifest) readsUser(command string) bool {
	return slices.ContainsFunc(m.commands, func(c dialect.CommandDoc) bool { return c.Name == command && c.Stdin == stdinUser })
}

// commandNames returns the names of the commands, in their order.
func (m *manifest) commandNames() []string {
	names := make([]string, len(m.commands))
	for i, c := range m.commands {
		names[i] = c.Name
	}
	return names
}

func (m *manifest) readPermissions(t *document.Table) {
	m.permissions = permissions{
		network:     t.Bool("network", false),
		filesystem:  t.List("filesystem"),
		store:       t.Bool("store", false),
		configRead:  t.Bool("config_read", false),
		configWrite: t.Bool("config_write", false),
		envVars:     t.List("env_vars"),
	}
	for i, name := range m.permissions.envVars {
		if name != "" && !envPattern.MatchString(name) {
			t.BadItem("env_vars", i, "write the name of each variable, such as \"GIT_DIR\"; there are no globs here", "%q is not the name of one variable", cut(name))
		}
	}
	for i, dir := range m.permissions.filesystem {
		if dir != "" && !filepath.IsAbs(dir) && !belowHome(dir) {
			t.WarnItem("filesystem", i, `write an absolute path, or one that begins with "~/"`, "%q is ignored: it is neither absolute nor below ~", cut(dir))
		}
	}
	endWarning(t)
}

// info returns what the manifest declares.
func (m *manifest) info() *dialect.Info {
	return &dialect.Info{Name: m.name, Version: m.version, Description: m.description, Hooks: m.stages(),
		Commands: m.commandNames(), CommandDocs: slices.Clone(m.commands), Author: m.author, License: m.license, Protocol: m.protocolVersion,
		Capabilities: m.permissions.names(), AnyProgram: true, Priority: hook.DefaultPriority}
}

// stages returns the stages in which the plugin has a hook, in the order of a command. If some
// hooks cannot be read, it returns all stages, since such a hook may be in any of them.
func (m *manifest) stages() []string {
	var have []string
	for _, stage := range stages {
		if m.unread || len(m.at(stage)) > 0 {
			have = append(have, stage)
		}
	}
	return have
}

// at returns the hooks of one stage.
func (m *manifest) at(stage string) []registration {
	var at []registration
	for _, r := range m.hooks {
		if r.stage == stage {
			at = append(at, r)
		}
	}
	return at
}

// names lists the permissions for display.
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
