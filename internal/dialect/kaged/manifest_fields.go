package kaged

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// The hooks and roles of a manifest: docs/protocols/kaged.md, rows K63 and K44.
const (
	hookPreCompact = "pre_compact"
	roleObserver   = "observer"
	roleCompactor  = "compactor"
)

var (
	hookNames = []string{"on_session_start", "on_session_idle", hookPreCompact, "post_compact"}
	roleNames = []string{roleObserver, roleCompactor}
)

// manifest checks every field: docs/protocols/kaged.md, rows K37 to K46.
func (c *checker) manifest(top *document.Table) {
	c.identity(top)
	c.commandAndEnv(top)
	c.capabilities(top.Value("capabilities"))
	c.interfaces(top)
	c.hooks(top.Value("hooks"))
	c.roles(top.Value("roles"))
	c.tools(top.Value("tools"))
	c.configuration(top)
	c.times(top)
	top.EndWarning()
}

// identity checks name, version and the other fields of docs/protocols/kaged.md, row K37.
func (c *checker) identity(top *document.Table) {
	m := c.m
	m.Name = c.name(top.Value("name"))
	m.Version = c.version(top.Value("version"))
	m.KagedAPI = c.api(top.Value("kaged_api"))
	m.Description = c.description(top.Value("description"))
	m.Author, _ = top.Value("author").Text()
	m.License, _ = top.Value("license").Text()
	m.Homepage = c.homepage(top.Value("homepage"))
}

// pluginName and maxName are the rule for names in docs/protocols/kaged.md#the-manifest.
var pluginName = pattern.New(`^[a-z][a-z0-9-]*$`)

const maxName = 64

// reservedNames are refused: docs/protocols/kaged.md, row K37. A plugin's tools begin with its
// name, and these prefixes are the host's.
var reservedNames = []string{"kaged", "system"}

func (c *checker) name(e document.Value) string {
	e.Required()
	s, ok := e.Filled()
	switch {
	case !ok:
		return ""
	case utf8.RuneCountInString(s) > maxName:
		e.Bad("", "must have at most %d characters, has %d", maxName, utf8.RuneCountInString(s))
	case !pluginName.MatchString(s):
		e.Bad("", "must be lowercase letters, digits and hyphens, a letter first, got %s", schema.Cite(s))
	case slices.Contains(reservedNames, s):
		e.Bad("", "must not be %s: methods that begin with %s. are the host's", s, s)
	default:
		return s
	}
	return ""
}

// semver matches a version as semver 2.0.0 defines it: major, minor and patch are all required, and
// there is no "v" in front.
var semver = pattern.New(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
	`(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?` +
	`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func (c *checker) version(e document.Value) string {
	e.Required()
	s, ok := e.Filled()
	switch {
	case !ok:
		return ""
	case semver.MatchString(strings.TrimPrefix(s, "v")) && s[0] == 'v':
		e.Bad("", `must be a semantic version without a "v" in front, got %s`, schema.Cite(s))
	case !semver.MatchString(s):
		e.Bad("", "must be a semantic version such as 1.2.3, got %s", schema.Cite(s))
	default:
		return s
	}
	return ""
}

// api checks kaged_api. A plugin for another version is refused here, before it is started.
func (c *checker) api(e document.Value) int {
	e.Required()
	n, ok := e.Whole()
	switch {
	case !ok:
	case n <= 0:
		e.Bad("", "must be greater than 0, got %d", n)
	case n != apiVersion:
		e.Bad("", "the plugin needs version %d of the plugin API, this host speaks %d", n, apiVersion)
	}
	return n
}

// maxDescription is in characters: docs/protocols/kaged.md#the-manifest.
const maxDescription = 200

func (c *checker) description(e document.Value) string {
	e.Required()
	s, ok := e.Filled()
	if n := utf8.RuneCountInString(s); ok && n > maxDescription {
		e.Bad("", "must have at most %d characters, has %d", maxDescription, n)
	}
	return s
}

// homepage accepts a URL of any scheme. It is shown and never opened.
func (c *checker) homepage(e document.Value) string {
	s, ok := e.Text()
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" && u.Path == "" {
		e.Bad("", "must be a URL such as https://example.org/plugin, got %s", schema.Cite(s))
		return ""
	}
	return s
}

// commandAndEnv checks command and env: docs/protocols/kaged.md, row K39.
func (c *checker) commandAndEnv(top *document.Table) {
	command := top.Value("command")
	command.Required()
	c.m.Command = texts(command, c.commandWord)
	if command.Present() && command.Kind() == document.List && command.Len() == 0 {
		command.Bad("", "must have at least one entry: the program")
	}
	env := top.Value("env")
	if env.Is(document.Map, "a mapping of names to strings") {
		c.env(env)
	}
}

// commandWord reads a word of the command. An argument may be empty, the program may not.
func (c *checker) commandWord(e document.Value) (string, bool) {
	s, ok := argument(e)
	if ok && s == "" && e.Path() == "command[0]" {
		e.Bad("", "must not be empty")
	}
	return s, ok
}

func (c *checker) env(env document.Value) {
	for _, name := range env.Names() {
		e := env.Get(name)
		if name == "" || strings.ContainsAny(name, "=\x00") {
			e.BadKey("", `the name of a variable must not be empty nor contain "="`)
		}
		if s, ok := argument(e); ok {
			c.m.Env[name] = s
		}
	}
}

func (c *checker) capabilities(list document.Value) {
	if !list.Is(document.List, "a list of strings") {
		return
	}
	var denial, grant document.Value // net:[], and the first other net: capability
	for _, e := range list.Items() {
		s, ok := e.Text()
		if !ok {
			continue
		}
		granted, err := capability.Parse(s)
		switch {
		case err != nil:
			e.Bad("", "%v", err)
			continue
		case granted.Kind == capability.NetNone:
			denial = e
		case granted.Network() && !grant.Present():
			grant = e
		}
		c.m.Capabilities = append(c.m.Capabilities, granted)
	}
	if denial.Present() && grant.Present() {
		denial.Bad("", "net:[] denies all network access, %s grants some", grant.Path())
	}
}

// interfaces checks the names of methods and notifications: docs/protocols/kaged.md, row K41.
func (c *checker) interfaces(top *document.Table) {
	methods, notifications := top.Value("methods"), top.Value("notifications")
	c.m.Methods = texts(methods, c.method)
	c.m.Notifications = texts(notifications, document.Value.Filled)
	c.warnRepeats(methods)
	c.warnRepeats(notifications)
	// Methods are required only of a plugin without hooks and tools.
	if isEmpty(methods) && isEmpty(top.Value("hooks")) && isEmpty(top.Value("tools")) {
		methods.Bad("", "a plugin must have at least one method, hook or tool")
	}
}

// isEmpty reports whether a list is missing or empty.
func isEmpty(e document.Value) bool {
	return !e.Present() || e.Kind() == document.List && e.Len() == 0
}

// methodName is the rule for methods in docs/protocols/kaged.md, row K41. The protocol does not say
// which characters a segment may have; these are the ones that its other names have.
var methodName = pattern.New(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*){1,3}$`)

func (c *checker) method(e document.Value) (string, bool) {
	s, ok := e.Text()
	switch {
	case !ok:
		return "", false
	case !methodName.MatchString(s):
		e.Bad("", "must be 2 to 4 lowercase segments with dots between, such as notes.search, got %s", schema.Cite(s))
	case strings.HasPrefix(s, "kaged.") || strings.HasPrefix(s, "system."):
		// docs/protocols/kaged.md, row K41
		e.Bad("", "must not start with kaged. or system.: these prefixes are reserved")
	default:
		return s, true
	}
	return "", false
}

func (c *checker) warnRepeats(list document.Value) {
	if !list.Present() {
		return
	}
	seen := make(map[string]string)
	for _, e := range list.Items() {
		word := string(e.JSON())
		if first, twice := seen[word]; twice && e.Kind() == document.String {
			e.Warn("", "repeats %s", first)
			continue
		}
		seen[word] = e.Path()
	}
}

func (c *checker) hooks(e document.Value) {
	c.m.Hooks = c.words(e, hookNames)
}

// words reads a list of known words without repetitions.
func (c *checker) words(e document.Value, known []string) []string {
	seen := make(map[string]string)
	return texts(e, func(item document.Value) (string, bool) {
		s, ok := item.OneOf(known...)
		return s, ok && distinct(seen, item, s)
	})
}

// roles reads the roles: docs/protocols/kaged.md, row K44. The host checks that only one plugin is
// the compactor.
func (c *checker) roles(e document.Value) {
	c.m.Roles = c.words(e, roleNames)
	if !e.Present() && len(c.m.Hooks) > 0 {
		c.m.Roles = []string{roleObserver}
	}
	if !c.m.Compactor() || slices.Contains(c.m.Hooks, hookPreCompact) {
		return
	}
	for _, item := range e.Items() {
		if item.Says(roleCompactor) {
			item.Bad("", "a compactor needs %s in hooks", hookPreCompact)
		}
	}
}

// times checks the three durations: docs/protocols/kaged.md, row K46.
func (c *checker) times(top *document.Table) {
	c.m.ShutdownTimeout = c.seconds(top.Value("shutdown_timeout_sec"), 1, 30, 5)
	c.m.HealthInterval = c.seconds(top.Value("health_interval_sec"), 5, 300, 30)
	c.m.HookTimeout = c.seconds(top.Value("hook_timeout_sec"), 1, 60, 10)
}

func (c *checker) seconds(e document.Value, low, high, otherwise int) time.Duration {
	n, ok := e.Whole()
	if ok && (n < low || n > high) {
		e.Bad("", "must be from %d to %d seconds, got %d", low, high, n)
	}
	if !ok {
		n = otherwise
	}
	return time.Duration(n) * time.Second
}
