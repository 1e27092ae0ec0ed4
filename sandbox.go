package patchbay

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/places"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// A policy is what a plugin is held to.
type policy struct {
	grants     []capability.Capability
	anyProgram bool // which programs it starts, its dialect has no way to declare
}

// policyOf says what a plugin is held to, nil for nothing: what the configuration grants it, or else what it declares where
// declarations of its dialect are enforced.
func (h *Host) policyOf(e *entry) *policy {
	if h.setup.config.Sandbox == config.SandboxOff {
		return nil
	}
	if granted := h.setup.config.Plugins[e.found.Name].Capabilities; granted != nil {
		return &policy{grants: granted}
	}
	if e.found.Info == nil || e.found.Info.Needs == nil {
		return nil // its dialect declares nothing
	}
	if e.found.Dialect == string(config.SandboxKaged) || h.setup.config.Sandbox == config.SandboxDeclared {
		return &policy{grants: e.found.Info.Needs, anyProgram: e.found.Info.AnyProgram}
	}
	return nil
}

// confine prepares the sandbox and the limits in which a plugin's processes are started. What cannot be enforced is
// an *[UnenforcedError], unless the configuration allows it.
func (h *Host) confine(e *entry, rt *dialect.Runtime) error {
	own := h.setup.config.Plugins[e.found.Name]
	rt.Limits = limitsOf(own.Limits)
	e.policy = h.policyOf(e)
	if e.policy == nil {
		return nil
	}
	e.settings.Grants = e.policy.grants
	guarded, err := h.guarded()
	if err != nil {
		return err
	}
	system := h.system()
	if refused := unenforced(system.Judge(e.policy.grants)); len(refused) > 0 && !own.AllowUnenforced {
		return &UnenforcedError{Plugin: e.found.Name, Capabilities: refused}
	}
	if err := system.Possible(); err != nil {
		rt.Log.Warn("plugin runs without a sandbox, as the configuration allows", "err", err)
		return nil
	}
	rt.Box = func(files ...string) proc.Box {
		return sandbox.New(sandbox.Options{Grants: e.policy.grants, AnyProgram: e.policy.anyProgram, Own: files, Environ: h.setup.Environ, Guarded: guarded,
			System: system, Log: rt.Log, OnPlan: e.mounts.set,
			OnDenied: func(d sandbox.Denial) {
				rt.Log.Warn("denied by the sandbox", "what", d.What, "grant", d.Capability, "dropped", d.Dropped)
				e.denials.add(d)
			}})
	}
	return nil
}

// guarded are Patchbay's own places, with those of the plugins that were found.
func (h *Host) guarded() ([]sandbox.Place, error) {
	var dirs []string
	for _, p := range Places(h.setup.Environ) {
		dirs = append(dirs, p.Dir)
	}
	if found := h.found.Load(); found != nil {
		dirs = append(dirs, *found...)
	}
	return places.Own(h.setup.dirs, h.setup.config, dirs)
}

// foundIn are the directories in which plugins of a roster were found. Of one that was named by its path, its own files alone.
func (r *roster) foundIn() []string {
	var dirs []string
	for _, e := range r.entries {
		dir := e.found.Path
		if !e.named {
			dir = filepath.Dir(dir)
		}
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func limitsOf(l config.Limits) dialect.Limits {
	return dialect.Limits{Output: int(l.Output),
		Limits: proc.Limits{Memory: l.Memory, Processes: l.Processes, Files: l.OpenFiles, CPU: l.CPUTime}}
}

// sameBounds refuses a plugin that turned out to have another name than its file, where the configuration has bounds under that
// name only: it runs already, and without them.
func (h *Host) sameBounds(e *entry) error {
	asked, used := h.setup.config.Plugins[e.info.Name], h.setup.config.Plugins[e.found.Name]
	if asked.Capabilities == nil && asked.Limits == (config.Limits{}) || used.Capabilities != nil || used.Limits != (config.Limits{}) {
		return nil
	}
	return &lateNameError{name: e.info.Name, file: e.found.Name}
}

// lateNameError is a plugin whose bounds the configuration has under a name that nobody knew when it was started.
type lateNameError struct{ name, file string }

func (e *lateNameError) Error() string {
	return fmt.Sprintf("its name, %s, is known only once it runs: what it is held to is looked for under [plugins.%q]", e.name, e.file)
}

// Fix is where to write it.
func (e *lateNameError) Fix() string {
	return fmt.Sprintf("write its capabilities and limits under [plugins.%q]", e.file)
}

// UnenforcedError says what of a plugin's capabilities this system cannot enforce. The plugin is then not started.
type UnenforcedError struct {
	Plugin       string
	Capabilities []Capability
}

func (e *UnenforcedError) Error() string {
	var parts []string
	for _, c := range e.Capabilities {
		parts = append(parts, c.Capability+" ("+c.Reason+")")
	}
	return fmt.Sprintf("the sandbox cannot enforce %s. To run it all the same, write allow_unenforced = true under [plugins.%q]", strings.Join(parts, ", "), e.Plugin)
}

// Fix is what to write into the configuration to run the plugin all the same.
func (e *UnenforcedError) Fix() string {
	return fmt.Sprintf("to run it all the same, write allow_unenforced = true under [plugins.%q]", e.Plugin)
}

// unenforced are those of the verdicts that say so.
func unenforced(verdicts []sandbox.Verdict) []Capability {
	var out []Capability
	for _, v := range verdicts {
		if v.Status == sandbox.NotEnforced {
			out = append(out, Capability{v.Capability, string(v.Status), v.Reason})
		}
	}
	return out
}

// capabilities says what a plugin may do, and how far it is held to that.
func (h *Host) capabilities(e *entry) []Capability {
	out := []Capability{}
	p := e.policy
	if p == nil {
		p = h.policyOf(e)
	}
	if p == nil {
		for _, c := range e.info.Capabilities {
			out = append(out, h.unheld(e, c))
		}
		return out
	}
	for _, v := range h.system().Judge(p.grants) {
		out = append(out, Capability{v.Capability, string(v.Status), v.Reason})
	}
	return out
}

// unheld is a capability that a plugin declares and nobody enforces, storage apart, which goes through the host.
func (h *Host) unheld(e *entry, c string) Capability {
	kind := capability.Kind(c)
	if kind == capability.StorageRead || kind == capability.StorageWrite {
		return Capability{c, string(sandbox.Enforced), "every storage call passes through the host"}
	}
	reason := fmt.Sprintf("what %s plugins declare is enforced with sandbox = %q, or by capabilities = […] under [plugins.%q]",
		e.found.Dialect, config.SandboxDeclared, e.found.Name)
	if h.setup.config.Sandbox == config.SandboxOff {
		reason = "the configuration says sandbox = \"off\""
	}
	return Capability{c, string(sandbox.NotEnforced), reason}
}

// examineBounds reports how far a running plugin is held to its capabilities: what is enforced in one remark, what is not, or not
// quite, each in a warning.
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
		case e.policy == nil: // nobody said that it should be
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

// examineLevel reports what the level of its sandbox means for a plugin, whatever it was granted.
func (h *Host) examineLevel(e *entry) []Finding {
	if e.policy == nil {
		return nil
	}
	what, mend := h.system().Weakness()
	if what == "" {
		return nil
	}
	return []Finding{{Severity: SeverityWarning, Plugin: e.info.Name, Dialect: e.found.Dialect, Where: e.found.Path, Problem: what, Fix: mend}}
}

// examineLimits reports the limits that nothing keeps here. In a sandbox with namespaces those on processes are kept everywhere.
func (h *Host) examineLimits(e *entry) []Finding {
	var findings []Finding
	set, kept := h.setup.config.Plugins[e.found.Name].Limits, proc.LimitSupport()
	for _, l := range []struct {
		name string
		set  bool
		by   proc.Enforcement
	}{
		{"memory", set.Memory > 0, kept.Memory},
		{"processes", set.Processes > 0 && (e.policy == nil || h.system().Namespaces != nil), kept.Processes},
		{"open_files", set.OpenFiles > 0, kept.Files},
		{"cpu_time", set.CPUTime > 0, kept.CPU},
	} {
		if l.set && l.by.By == "" {
			findings = append(findings, Finding{Severity: SeverityWarning, Plugin: e.info.Name, Dialect: e.found.Dialect,
				Where: h.setup.dirs.ConfigFile, Problem: "limits." + l.name + " is not enforced: " + l.by.Note})
		}
	}
	return findings
}

// mounts are what a plugin's newest process sees of the file system.
type mounts struct {
	mu    sync.Mutex // protects trees
	trees []sandbox.Tree
}

func (m *mounts) set(trees []sandbox.Tree) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trees = trees
}

// show reports whether a path is, or lies in, a part of the outside that the plugin sees.
func (m *mounts) show(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.trees, func(t sandbox.Tree) bool {
		rel, err := filepath.Rel(t.Path, path)
		return err == nil && filepath.IsLocal(rel) && t.Because != sandbox.BecauseMemory
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

// mostDenials is how many denials are kept for the next step of the trace. More say no more.
const mostDenials = 20

// denials are what a plugin's sandbox refused it since its last call ended.
type denials struct {
	mu    sync.Mutex // protects the fields below
	texts []string
	more  int
}

func (d *denials) add(denied sandbox.Denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.texts) >= mostDenials {
		d.more++
		return
	}
	d.texts = append(d.texts, "sandbox: denied "+denied.Error())
	d.more += denied.Dropped
}

// take hands them out once.
func (d *denials) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	texts := d.texts
	if d.more > 0 {
		texts = append(texts, fmt.Sprintf("sandbox: and %d denials more", d.more))
	}
	d.texts, d.more = nil, 0
	return texts
}
