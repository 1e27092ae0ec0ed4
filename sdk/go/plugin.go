package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// A Plugin consists of functions: handlers of points, tools, methods and commands. Make one with
// New, define it, and end main with Main.
type Plugin struct {
	name, version, description string

	// Author is required by mine, and shown by others.
	Author string
	// License is an SPDX identifier, Homepage an address. Both are shown.
	License, Homepage string
	// Priority determines the order among plugins, if the dialect supports it (scaffold): lower
	// ones are called first. 0 means 500.
	Priority int
	// Platforms lists the systems that the plugin works on, as Go names them. Empty: all.
	Platforms []string
	// Compactor says that the plugin's handler of CompactBefore compacts, and does not only observe
	// (kaged).
	Compactor bool
	// Program is how hosts start the plugin, for manifests. Empty: its own file, in the manifest's
	// folder.
	Program []string

	handlers      map[string][]handler // by point
	tools         []*operation
	methods       []*operation
	commands      []*command
	notifications []string
	capabilities  []string
	variables     []string // of the environment
	config        *settings
	secrets       *settings
	usesState     bool
	start, stop   []func(context.Context) error
	health        func(context.Context) error

	faults  []error // of the definition
	current atomic.Pointer[session]
	log     *slog.Logger
}

// New begins a plugin. The name has lower-case letters and digits, with single hyphens between; the
// version is a semantic version; the description is a sentence for people.
func New(name, version, description string) *Plugin {
	p := &Plugin{name: name, version: version, description: description, handlers: make(map[string][]handler)}
	p.log = slog.New(slog.NewTextHandler(logWriter{p}, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: untimed}))
	if !validName.MatchString(name) || len(name) > 64 || name == "kaged" || name == "system" {
		p.fault("the name %q is invalid: use lower-case letters and digits, a letter first, single hyphens between, at most 64 characters", name)
	}
	if !validVersion.MatchString(version) {
		p.fault("the version %q is not a semantic version, such as 1.2.3", version)
	}
	if n := len([]rune(description)); n == 0 || n > 200 {
		p.fault("the description has %d characters, and must have 1 to 200", n)
	}
	return p
}

// Every dialect accepts these.
var (
	validName    = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	validVersion = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	validTool    = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	validMethod  = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*){1,3}$`)
	validWord    = regexp.MustCompile(`^[^-\s][^\s]*$`)
)

// Name returns the plugin's name.
func (p *Plugin) Name() string { return p.name }

// Version returns the plugin's version.
func (p *Plugin) Version() string { return p.version }

// Description returns the plugin's description.
func (p *Plugin) Description() string { return p.description }

// Needs declares what the plugin uses, in kaged's words: read:fs:/path, write:fs:/path,
// exec:NAME:/path, net:HOST:PORT, net:*. For mine it becomes permissions; exec is left out there,
// because plugins of mine may start any program. Storage need not be declared: see [Plugin.State].
func (p *Plugin) Needs(capabilities ...string) {
	p.capabilities = append(p.capabilities, capabilities...)
}

// Env declares variables of the environment that the plugin reads. mine passes on no others.
func (p *Plugin) Env(names ...string) { p.variables = append(p.variables, names...) }

// Start adds a function that runs once in each process, before its first handler, when the config
// is known. If it returns an error, the host gets that error, and no handler runs. In dialects with
// a process for each call it runs at every call.
func (p *Plugin) Start(run func(ctx context.Context) error) { p.start = append(p.start, run) }

// Stop adds a function that runs once when a process ends in order: after shutdown, the end of
// stdin or a signal, and after the only call of a process.
func (p *Plugin) Stop(run func(ctx context.Context) error) { p.stop = append(p.stop, run) }

// Health sets a function that reports the plugin's health when the host asks. Without it the plugin
// is healthy as long as it answers.
func (p *Plugin) Health(check func(ctx context.Context) error) { p.health = check }

// Log writes to stderr, which hosts store as the plugin's log.
func (p *Plugin) Log() *slog.Logger { return p.log }

// Check reports everything that is wrong with the definition. Main calls it too.
func (p *Plugin) Check() error {
	faults := p.faults
	for _, o := range p.methods {
		if tool, own := strings.CutPrefix(o.name, p.name+"."); own && find(p.tools, tool) != nil {
			faults = append(faults, fmt.Errorf("method %q has the name that kaged gives to the tool %q", o.name, tool))
		}
	}
	if len(p.Speaks()) == 0 {
		faults = append(faults, errors.New("the plugin has no handler, tool, method or command"))
	}
	return errors.Join(faults...)
}

func (p *Plugin) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf(format, args...))
}

// Speaks lists the dialects in which the plugin offers something.
func (p *Plugin) Speaks() []Dialect {
	var out []Dialect
	for _, d := range Dialects() {
		if p.speaks(d) {
			out = append(out, d)
		}
	}
	return out
}

func (p *Plugin) speaks(d Dialect) bool {
	switch {
	case d == Mine && len(p.commands) > 0,
		d == Kaged && len(p.tools)+len(p.methods) > 0,
		(d == Scaffold || d == MCP) && len(p.tools) > 0:
		return true
	}
	return len(p.hooks(d)) > 0
}

// unspoken says why a host cannot use the plugin in a dialect.
func (p *Plugin) unspoken(d Dialect) error {
	return fmt.Errorf("%s has nothing for %s: %s", p.name, d, wants[d])
}

var wants = map[Dialect]string{
	Dotagent: "it needs a handler of job.preflight, job.sink or job.notify",
	Mine:     "it needs a command, or a handler of command.validate, command.before, command.after or command.done",
	Kaged:    "it needs a tool, a method, or a handler of session.start, session.idle, compact.before or compact.after",
	Scaffold: "it needs a tool, or a handler of turn.input, prompt.context, prompt.send, model.reply, turn.final or tool.*",
	MCP:      "it needs a tool",
}

// hooks returns the hooks of a dialect that the plugin has handlers for, in the order of points.
func (p *Plugin) hooks(d Dialect) []string {
	var out []string
	for _, n := range natives {
		if n.dialect == d && len(p.handlers[n.point]) > 0 && !contains(out, n.hook) {
			out = append(out, n.hook)
		}
	}
	return out
}

// slowest returns the longest time that handlers of a dialect have declared; 0 if none has.
func (p *Plugin) slowest(d Dialect) time.Duration {
	var most time.Duration
	for _, n := range natives {
		for _, h := range p.handlers[n.point] {
			if n.dialect == d {
				most = max(most, h.timeout)
			}
		}
	}
	return most
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// quoteAll lists words for a message.
func quoteAll(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
