package pluginhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/places"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// A policy is what a plugin's sandbox allows.
type policy struct {
	grants     []capability.Capability
	anyProgram bool // it may start any program, because its dialect cannot declare which
}

// policyOf returns the policy of a plugin, or nil if it is not confined. It is the capabilities
// that the configuration grants to its place, or else those that the plugin declares, if
// declarations of its dialect are enforced. Lists under another name of the plugin restrict it
// further.
func (h *Host) policyOf(e *entry) *policy {
	if h.setup().config.Sandbox == config.SandboxOff {
		return nil
	}
	grants, bounds := e.own.granted()
	p := h.declared(e)
	if grants != nil {
		p = &policy{grants: grants}
	}
	for _, bound := range bounds {
		p = p.within(bound)
	}
	return p
}

// listed reports whether the configuration says what a plugin may do, in place of what it declares.
func (h *Host) listed(e *entry) bool {
	grants, _ := e.own.granted()
	return grants != nil && h.setup().config.Sandbox != config.SandboxOff
}

// within returns a policy that allows nothing beyond bound.
func (p *policy) within(bound []capability.Capability) *policy {
	if p == nil {
		return &policy{grants: bound}
	}
	return &policy{grants: capability.Common(p.grants, bound)}
}

// declared returns what a plugin declares, or nil if declarations of its dialect are not enforced.
func (h *Host) declared(e *entry) *policy {
	if e.found.Info == nil || e.found.Info.Needs == nil {
		return nil // its dialect has no declarations
	}
	if e.found.Dialect == string(config.SandboxKaged) || h.setup().config.Sandbox == config.SandboxDeclared {
		return &policy{grants: e.granted(e.found.Info.Needs), anyProgram: e.found.Info.AnyProgram}
	}
	return nil
}

// confine prepares the sandbox and the limits for a plugin's processes. If a capability cannot be
// enforced, it returns an *[UnenforcedError], unless the configuration allows that.
func (h *Host) confine(e *entry, rt *dialect.Runtime) error {
	e.limits = e.own.limits()
	rt.Limits = limitsOf(e.limits)
	e.policy = h.policyOf(e)
	if e.policy == nil {
		if len(e.trust.Withheld) > 0 { // storage and variables come from the host, which withholds them even without a sandbox
			e.settings.Grants = e.granted(e.found.Info.Needs)
		}
		return nil
	}
	e.settings.Grants = e.policy.grants
	guarded, err := h.guarded(e.policy.grants)
	if err != nil {
		return err
	}
	system := h.system()
	if refused := unenforced(system.Judge(e.policy.grants)); len(refused) > 0 && !e.own.allowUnenforced() {
		return &UnenforcedError{Capabilities: refused, section: h.sectionOf(e)}
	}
	if err := system.Possible(); err != nil {
		rt.Log.Warn("plugin runs without a sandbox, as the configuration allows", "err", err)
		return nil
	}
	reportAbsent(e, rt)
	var last lastBox
	installed := h.setup().installedOf(e.names)
	rt.Box = func(files ...string) proc.Box {
		if installed != "" {
			files = append(slices.Clip(files), installed)
		}
		setup, policy := h.setup(), e.policy
		return last.of(setup, policy, files, func() *sandbox.Box {
			return sandbox.New(sandbox.Options{Grants: policy.grants, AnyProgram: policy.anyProgram, Own: files, Environ: setup.Environ, Guarded: guarded,
				System: system, Log: rt.Log, OnPlan: e.mounts.set,
				OnDenied: func(d sandbox.Denial) {
					rt.Log.Warn("denied by the sandbox", "what", d.What, dialect.GrantKey, d.Capability, "dropped", d.Dropped)
					e.denials.add(d)
					e.tally.deny(d)
					h.reportDenied(e, d)
				}})
		})
	}
	return nil
}

// reportAbsent warns of granted files and programs that do not exist. Most likely their paths are
// misspelt, unless the protocol has chosen them.
func reportAbsent(e *entry, rt *dialect.Runtime) {
	for _, g := range e.policy.grants {
		if e.found.Info != nil && slices.Contains(e.found.Info.Optional, g) {
			continue
		}
		if _, err := os.Stat(g.Path); g.Path == "" || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		switch g.Kind {
		case capability.ReadFS:
			rt.Odd(fmt.Sprintf("%s: there is no such file or directory", g), "create it, or correct the path")
		case capability.Exec:
			rt.Odd(fmt.Sprintf("%s: there is no such program", g), "install it, or correct the path")
		}
	}
}

// lastBox caches the box of a plugin until something changes. A box may have built the jail for the
// plugin's next process already, and another box could not use that jail.
type lastBox struct {
	mu     sync.Mutex // protects the fields below
	box    *sandbox.Box
	setup  *setup
	policy *policy
	files  []string
}

func (l *lastBox) of(s *setup, p *policy, files []string, make func() *sandbox.Box) *sandbox.Box {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.box == nil || l.setup != s || l.policy != p || !slices.Equal(l.files, files) {
		l.box, l.setup, l.policy, l.files = make(), s, p, files
	}
	return l.box
}

// guarded returns the places of Patchbay itself, of the plugins that were found, and of the
// projects that the grants reach.
func (h *Host) guarded(grants []capability.Capability) ([]sandbox.Place, error) {
	dirs := append(Searched(h.setup().Environ), h.setup().Dirs...)
	var plugins []string
	if found := h.found.Load(); found != nil {
		dirs, plugins = append(dirs, found.dirs...), found.plugins
	}
	list, err := places.Own(h.setup().dirs, h.setup().config, dirs, plugins)
	if !h.setup().own() {
		list = append(list, places.Projects(h.setup().projectRoot, grants)...)
	}
	return list, err
}

// foundPlaces lists where plugins were found.
type foundPlaces struct {
	dirs    []string // of the plugins; for a plugin that the caller named by path, the plugin itself
	plugins []string // the plugins' own paths
}

// foundIn returns the places of the plugins of a roster.
func (r *roster) foundIn() foundPlaces {
	var found foundPlaces
	for _, e := range r.entries {
		dir := e.found.Path
		if !filepath.IsAbs(dir) {
			continue // an MCP server or a plugin made of functions is in no directory
		}
		if !e.named {
			dir = filepath.Dir(dir)
		}
		found.dirs, found.plugins = append(found.dirs, dir), append(found.plugins, e.found.Path)
	}
	slices.Sort(found.dirs)
	found.dirs = slices.Compact(found.dirs)
	return found
}

func limitsOf(l config.Limits) dialect.Limits {
	return dialect.Limits{Output: int(l.Output),
		Limits: limits.Limits{Memory: l.Memory, Processes: l.Processes, Files: l.OpenFiles, CPU: l.CPUTime}}
}

// sameBounds returns an error if the plugin runs already and calls itself by a name for which the
// configuration has tighter limits or capabilities than it was started with.
func (h *Host) sameBounds(e *entry) error {
	for _, s := range e.own {
		if !h.enforces(e, s.table) {
			return &lateNameError{name: e.names.called, key: s.key, section: h.sectionOf(e)}
		}
	}
	return nil
}

// enforces reports whether a running plugin obeys the limits and capabilities of a table.
func (h *Host) enforces(e *entry, t config.Plugin) bool {
	if tighter(e.limits, t.Limits) != e.limits {
		return false
	}
	if t.Capabilities == nil || h.setup().config.Sandbox == config.SandboxOff {
		return true
	}
	return e.policy != nil && !e.policy.anyProgram && capability.Within(e.policy.grants, t.Capabilities)
}

// sectionOf returns the header of the table that grants something to a plugin.
func (h *Host) sectionOf(e *entry) string {
	key := e.names.place
	if !e.alone {
		key = e.names.dialect + ":" + e.names.place
	}
	return fmt.Sprintf("[plugins.%q]", key)
}

// A lateNameError is the error of a plugin that the configuration restricts under a name that was
// not known when the plugin was started.
type lateNameError struct{ name, key, section string }

func (e *lateNameError) Error() string {
	return fmt.Sprintf("it calls itself %s, a name that is known only once it runs: it was started without the bounds of [plugins.%q]", e.name, e.key)
}

// Fix says where to write the restrictions.
func (e *lateNameError) Fix() string {
	return "write its capabilities and limits under " + e.section + ", which apply from the start"
}

// An UnenforcedError lists the capabilities of a plugin that this system cannot enforce. The plugin
// is not started.
type UnenforcedError struct {
	Capabilities []Capability

	section string // the table that could allow it
}

func (e *UnenforcedError) Error() string {
	var parts []string
	for _, c := range e.Capabilities {
		parts = append(parts, c.Capability+" ("+c.Reason+")")
	}
	return fmt.Sprintf("the sandbox cannot enforce %s; %s", strings.Join(parts, ", "), e.Fix())
}

// Fix says how to run the plugin without enforcement.
func (e *UnenforcedError) Fix() string {
	return "to run it anyway, write allow_unenforced = true under " + e.section
}

// unenforced returns the capabilities that cannot be enforced.
func unenforced(verdicts []sandbox.Verdict) []Capability {
	var out []Capability
	for _, v := range verdicts {
		if v.Status == sandbox.NotEnforced {
			out = append(out, Capability{v.Capability, string(v.Status), v.Reason})
		}
	}
	return out
}

// capabilities returns what a plugin may do, and how far the system enforces it.
func (h *Host) capabilities(e *entry) []Capability {
	out := []Capability{}
	p := e.policy
	if p == nil {
		p = h.policyOf(e)
	}
	if p == nil {
		for _, c := range e.info.Capabilities {
			out = append(out, h.unconfined(e, c))
		}
		return out
	}
	for _, v := range h.system().Judge(p.grants) {
		out = append(out, Capability{v.Capability, string(v.Status), v.Reason})
	}
	for _, c := range e.info.Capabilities { // the host sets the variables; the sandbox knows nothing about them
		if strings.HasPrefix(c, "env:") {
			out = append(out, h.unconfined(e, c))
		}
	}
	return out
}

// unconfined returns a declared capability of a plugin that is not confined. Storage and variables
// are enforced nevertheless, because they come from the host.
func (h *Host) unconfined(e *entry, c string) Capability {
	if storageCapability(c) {
		return Capability{c, string(sandbox.Enforced), "every storage call passes through the host"}
	}
	if strings.HasPrefix(c, "env:") {
		return Capability{c, string(sandbox.Enforced), "it gets the variables that it declares, PATH and HOME" + e.passedOn() + ", and no others"}
	}
	reason := fmt.Sprintf("what %s plugins declare is enforced with sandbox = %q, or by capabilities = […] under %s",
		e.found.Dialect, config.SandboxDeclared, h.sectionOf(e))
	if h.setup().config.Sandbox == config.SandboxOff {
		reason = "the configuration says sandbox = \"off\""
	}
	return Capability{c, string(sandbox.NotEnforced), reason}
}

// passedOn returns the end of a list of the variables that a plugin gets: those that env in the
// configuration passes on.
func (e *entry) passedOn() string {
	passed := e.own.env()
	if len(passed) == 0 {
		return ""
	}
	return ", those that env in the configuration passes on (" + strings.Join(passed, ", ") + ")"
}

// examineBounds reports how far the capabilities of a running plugin are enforced. If it is
// confined, one finding lists all that are enforced. Each other capability has a finding of its
// own: a warning, or only info if the configuration does not ask for a sandbox.
func (h *Host) examineBounds(e *entry) []Finding {
	if e.plugin == nil {
		return nil
	}
	findings := h.examineLimits(e)
	about := func(s Severity, problem string) {
		findings = append(findings, Finding{Severity: s, Plugin: e.info.Name, Dialect: e.found.Dialect, Where: e.found.Path, Problem: problem})
	}
	var kept []string
	for _, c := range h.capabilities(e) {
		switch {
		case c.Status == string(sandbox.Enforced):
			kept = append(kept, c.Capability)
		case e.policy == nil: // the configuration does not ask for a sandbox
			about(SeverityInfo, fmt.Sprintf("%s is not enforced: %s", c.Capability, c.Reason))
		default:
			about(SeverityWarning, fmt.Sprintf("%s is %s: %s", c.Capability, strings.ReplaceAll(c.Status, "_", " "), c.Reason))
		}
	}
	if e.policy != nil && len(kept) > 0 {
		about(SeverityInfo, "in a sandbox, which enforces "+strings.Join(kept, ", "))
	}
	return append(findings, h.examineLevel(e)...)
}

// examineLevel reports the weakness of this machine's sandbox, if any, for a confined plugin.
func (h *Host) examineLevel(e *entry) []Finding {
	if e.policy == nil {
		return nil
	}
	what, fix := h.system().Weakness()
	if what == "" {
		return nil
	}
	return []Finding{{Severity: SeverityWarning, Plugin: e.info.Name, Dialect: e.found.Dialect, Where: e.found.Path, Problem: what, Fix: fix}}
}

// examineLimits reports the limits that this system does not enforce. A sandbox with namespaces
// enforces the limit on processes everywhere.
func (h *Host) examineLimits(e *entry) []Finding {
	var findings []Finding
	set, kept := e.limits, limits.Supported()
	for _, l := range []struct {
		name string
		set  bool
		by   limits.Enforcement
	}{
		{"memory", set.Memory > 0, kept.Memory},
		{"processes", set.Processes > 0 && (e.policy == nil || h.system().Namespaces != nil), kept.Processes},
		{"open_files", set.OpenFiles > 0, kept.Files},
		{"cpu_time", set.CPUTime > 0, kept.CPU},
	} {
		if l.set && l.by.By == "" {
			findings = append(findings, Finding{Severity: SeverityWarning, Plugin: e.info.Name, Dialect: e.found.Dialect,
				Where: h.setup().dirs.ConfigFile, Problem: "limits." + l.name + " is not enforced: " + l.by.Note})
		}
	}
	return findings
}

// mounts holds the part of the file system that a plugin's newest process sees.
type mounts struct {
	mu    sync.Mutex // protects trees
	trees []sandbox.Tree
}

func (m *mounts) set(trees []sandbox.Tree) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trees = trees
}

// show reports whether the plugin sees the file at a path of the host, and if start is set, whether
// it may start it.
func (m *mounts) show(path string, start bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.trees, func(t sandbox.Tree) bool {
		rel, err := filepath.Rel(t.Path, path)
		return err == nil && filepath.IsLocal(rel) && t.Because != sandbox.BecauseMemory && (t.Access == sandbox.Execute || !start)
	})
}

func (m *mounts) list() []Mount {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []Mount{}
	for _, t := range m.trees {
		out = append(out, Mount{t.Path, string(t.Access), t.Because})
	}
	return out
}

// mostDenials limits how many denials are noted in one step of the trace.
const mostDenials = 20

// denials holds what a plugin's sandbox refused since its last call ended.
type denials struct {
	mu    sync.Mutex // protects the fields below
	texts []string
	more  int
}

func (d *denials) add(denied sandbox.Denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.more += denied.Dropped
	if len(d.texts) >= mostDenials {
		d.more++
		return
	}
	d.texts = append(d.texts, "sandbox: denied "+denied.Error())
}

// take returns the denials and clears them.
func (d *denials) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	texts := d.texts
	if d.more > 0 {
		texts = append(texts, fmt.Sprintf("sandbox: and %d more denials", d.more))
	}
	d.texts, d.more = nil, 0
	return texts
}
