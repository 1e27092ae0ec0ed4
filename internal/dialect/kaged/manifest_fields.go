package kaged

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// manifestKeys are the fields of a manifest, in the order of the seed's table.
var manifestKeys = []string{
	"name", "version", "kaged_api", "description", "author", "license", "homepage",
	"command", "env", "capabilities", "methods", "notifications",
	"config_schema", "system_config_schema", "hooks", "tools", "roles", "knobs",
	"shutdown_timeout_sec", "health_interval_sec", "hook_timeout_sec",
}

// The words the seed allows in hooks and in roles.
const (
	hookPreCompact = "pre_compact"
	roleObserver   = "observer"
	roleCompactor  = "compactor"
)

var (
	hookNames = []string{"on_session_start", "on_session_idle", hookPreCompact, "post_compact"}
	roleNames = []string{roleObserver, roleCompactor}
)

// manifest checks every field of the seed's table.
func (c *checker) manifest(top entry) {
	c.unknownKeys(top, manifestKeys)
	c.identity(top)
	c.process(top)
	c.capabilities(top.get("capabilities"))
	c.interfaces(top)
	c.hooks(top.get("hooks"))
	c.roles(top.get("roles"))
	c.tools(top.get("tools"))
	c.configuration(top)
	c.times(top)
}

// identity checks who the plugin says it is.
func (c *checker) identity(top entry) {
	m := c.m
	m.Name = c.name(top.get("name"))
	m.Version = c.version(top.get("version"))
	m.KagedAPI = c.api(top.get("kaged_api"))
	m.Description = c.description(top.get("description"))
	m.Author, _ = c.text(top.get("author"))
	m.License, _ = c.text(top.get("license"))
	m.Homepage = c.homepage(top.get("homepage"))
}

// "Plugin name — lowercase slug (a-z, 0-9, hyphens; max 64 chars)."
var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

const maxName = 64

// reservedNames: a plugin's methods and tools begin with its name, and "must not start with kaged.* or system.*".
var reservedNames = []string{"kaged", "system"}

func (c *checker) name(e entry) string {
	c.required(e)
	s, ok := c.filled(e)
	switch {
	case !ok:
		return ""
	case utf8.RuneCountInString(s) > maxName:
		c.problem(e, "must have at most %d characters, has %d", maxName, utf8.RuneCountInString(s))
	case !pluginName.MatchString(s):
		c.problem(e, "must be lowercase letters, digits and hyphens, a letter first, got %s", schema.Cite(s))
	case slices.Contains(reservedNames, s):
		c.problem(e, "must not be %s: methods that begin with %s. are the host's", s, s)
	default:
		return s
	}
	return ""
}

// "Semver version string." No part of it is optional in semver 2.0.0, nor is a
// "v" in front a part of it.
var semver = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
	`(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?` +
	`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func (c *checker) version(e entry) string {
	c.required(e)
	s, ok := c.filled(e)
	switch {
	case !ok:
		return ""
	case semver.MatchString(strings.TrimPrefix(s, "v")) && s[0] == 'v':
		c.problem(e, `must be a semantic version without a "v" in front, got %s`, schema.Cite(s))
	case !semver.MatchString(s):
		c.problem(e, "must be a semantic version such as 1.2.3, got %s", schema.Cite(s))
	default:
		return s
	}
	return ""
}

// api checks kaged_api. Another version than the host's is known to be useless
// here and now, so it need not wait for the handshake to be refused.
func (c *checker) api(e entry) int {
	c.required(e)
	n, ok := c.integer(e)
	switch {
	case !ok:
	case n <= 0:
		c.problem(e, "must be greater than 0, got %d", n)
	case n != apiVersion:
		c.problem(e, "the plugin needs version %d of the plugin API, this host speaks %d", n, apiVersion)
	}
	return n
}

// "Short description (1-200 chars)."
const maxDescription = 200

func (c *checker) description(e entry) string {
	c.required(e)
	s, ok := c.filled(e)
	if n := utf8.RuneCountInString(s); ok && n > maxDescription {
		c.problem(e, "must have at most %d characters, has %d", maxDescription, n)
	}
	return s
}

// homepage: the document says "url", of whatever scheme. It is shown, and never opened.
func (c *checker) homepage(e entry) string {
	s, ok := c.text(e)
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" && u.Path == "" {
		c.problem(e, "must be a URL such as https://example.org/plugin, got %s", schema.Cite(s))
		return ""
	}
	return s
}

// process checks how the plugin is started.
func (c *checker) process(top entry) {
	command := top.get("command")
	c.required(command)
	c.m.Command = c.texts(command, c.commandWord)
	if command.present() && command.node.kind == kindList && len(command.node.items) == 0 {
		c.problem(command, "must have at least one entry: the program")
	}
	env := top.get("env")
	if c.is(env, kindMap, "a mapping of names to strings") {
		c.env(env)
	}
}

// commandWord reads a word of the command. An argument may be empty, the program may not.
func (c *checker) commandWord(e entry) (string, bool) {
	s, ok := c.argument(e)
	if ok && s == "" && e.field == "command[0]" {
		c.problem(e, "must not be empty")
	}
	return s, ok
}

func (c *checker) env(env entry) {
	for _, f := range env.node.fields {
		e := env.get(f.name)
		if f.name == "" || strings.ContainsAny(f.name, "=\x00") {
			c.problemAt(f.at, e.field, `the name of a variable must not be empty nor contain "="`)
		}
		if s, ok := c.argument(e); ok {
			c.m.Env[f.name] = s
		}
	}
}

func (c *checker) capabilities(list entry) {
	if !c.is(list, kindList, "a list of strings") {
		return
	}
	var denial, grant entry // net:[], and the first other net: capability
	for _, e := range list.list() {
		s, ok := c.text(e)
		if !ok {
			continue
		}
		granted, err := capability.Parse(s)
		switch {
		case err != nil:
			c.problem(e, "%v", err)
			continue
		case granted.Kind == capability.NetNone:
			denial = e
		case granted.Network() && !grant.present():
			grant = e
		}
		c.m.Capabilities = append(c.m.Capabilities, granted)
	}
	if denial.present() && grant.present() {
		c.problem(denial, "net:[] denies all network access, %s grants some", grant.field)
	}
}

// interfaces checks the names of methods and notifications.
func (c *checker) interfaces(top entry) {
	methods, notifications := top.get("methods"), top.get("notifications")
	c.m.Methods = c.texts(methods, c.method)
	c.m.Notifications = c.texts(notifications, c.filled)
	c.warnRepeats(methods)
	c.warnRepeats(notifications)
	// "May be empty if `hooks` or `tools` is non-empty."
	if hollow(methods) && hollow(top.get("hooks")) && hollow(top.get("tools")) {
		c.problem(methods, "a plugin must have at least one method, hook or tool")
	}
}

// hollow reports a list that is missing or empty.
func hollow(e entry) bool {
	return !e.present() || e.node.kind == kindList && len(e.node.items) == 0
}

// "Must be dot-delimited, 2-4 segments, lowercase." What a segment may hold is
// not said; letters, digits, _ and - after a letter are what names elsewhere in
// the seed hold.
var methodName = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*){1,3}$`)

func (c *checker) method(e entry) (string, bool) {
	s, ok := c.text(e)
	switch {
	case !ok:
		return "", false
	case !methodName.MatchString(s):
		c.problem(e, "must be 2 to 4 lowercase segments with dots between, such as notes.search, got %s", schema.Cite(s))
	case strings.HasPrefix(s, "kaged.") || strings.HasPrefix(s, "system."):
		// "Method names must not start with kaged.* or system.* — these prefixes are reserved."
		c.problem(e, "must not start with kaged. or system.: these prefixes are reserved")
	default:
		return s, true
	}
	return "", false
}

func (c *checker) warnRepeats(list entry) {
	if !list.present() {
		return
	}
	seen := make(map[string]string)
	for _, e := range list.list() {
		if first, twice := seen[e.node.text]; twice && e.node.kind == kindString {
			c.warn(e, "repeats %s", first)
			continue
		}
		seen[e.node.text] = e.field
	}
}

func (c *checker) hooks(e entry) {
	c.m.Hooks = c.words(e, hookNames)
}

// words reads a list of known words, each once.
func (c *checker) words(e entry, known []string) []string {
	seen := make(map[string]string)
	return c.texts(e, func(item entry) (string, bool) {
		s, ok := c.oneOf(item, known)
		return s, ok && c.distinct(seen, item, s)
	})
}

// roles: "Default: [observer] when `hooks` is non-empty, else []. `compactor`
// requires `pre_compact` in hooks." That there is one compactor at most is for
// those who see all plugins.
func (c *checker) roles(e entry) {
	c.m.Roles = c.words(e, roleNames)
	if !e.present() && len(c.m.Hooks) > 0 {
		c.m.Roles = []string{roleObserver}
	}
	if !c.m.Compactor() || slices.Contains(c.m.Hooks, hookPreCompact) {
		return
	}
	for _, item := range e.list() {
		if item.node.text == roleCompactor {
			c.problem(item, "a compactor needs %s in hooks", hookPreCompact)
		}
	}
}

// times checks the three durations, with their ranges and defaults.
func (c *checker) times(top entry) {
	c.m.ShutdownTimeout = c.seconds(top.get("shutdown_timeout_sec"), 1, 30, 5)
	c.m.HealthInterval = c.seconds(top.get("health_interval_sec"), 5, 300, 30)
	c.m.HookTimeout = c.seconds(top.get("hook_timeout_sec"), 1, 60, 10)
}

func (c *checker) seconds(e entry, low, high, otherwise int) time.Duration {
	n, ok := c.integer(e)
	if ok && (n < low || n > high) {
		c.problem(e, "must be from %d to %d seconds, got %d", low, high, n)
	}
	if !ok {
		n = otherwise
	}
	return time.Duration(n) * time.Second
}
