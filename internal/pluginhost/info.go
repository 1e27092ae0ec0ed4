package pluginhost

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// PluginInfo is one plugin, as `patchbay plugin list --json` prints it.
type PluginInfo struct {
	Name        string        `json:"name"`
	Dialect     string        `json:"dialect"`
	Version     string        `json:"version"`
	Description string        `json:"description"`
	Path        string        `json:"path"`
	Project     string        `json:"project"` // the root of the project that brings it along; "": it is the user's own
	State       dialect.State `json:"state"`
	Hooks       []string      `json:"hooks"` // the dialect's own names
	Tools       []string      `json:"tools"` // full names
	Commands    []string      `json:"commands"`
	Methods     []string      `json:"methods"`
	Kinds       []string      `json:"kinds"`
	Priority    int           `json:"priority"`
	Pid         *int          `json:"pid"`    // nil: no process
	Error       *string       `json:"error"`  // why it is not ready
	Health      string        `json:"health"` // of its process: ok | restarting | failing | unknown, or the dialect's own word; else its state
	Trust       trust.State   `json:"trust"`  // how it stands to patchbay.lock; "": it has no files that could be recorded
}

// PluginDetail is all there is to know about one plugin.
type PluginDetail struct {
	PluginInfo
	Author       string       `json:"author"`
	License      string       `json:"license"`
	Homepage     string       `json:"homepage"`
	Protocol     string       `json:"protocol_version"` // of its dialect's protocol; "": it does not say
	Wiring       []Wire       `json:"wiring"`
	Knobs        []Knob       `json:"knobs"`
	ConfigFiles  []string     `json:"config_files"` // where its config comes from; of two values the later file's counts
	Enabled      bool         `json:"enabled"`      // by the configuration
	Manifest     *Manifest    `json:"manifest"`     // nil: it has none
	Capabilities []Capability `json:"capabilities"`
	Mounts       []Mount      `json:"mounts"` // empty where it is not confined, or was not started yet
	Counters     Counters     `json:"counters"`
	Recent       []uint32     `json:"recent_us"` // how long the last calls took, oldest first
	Denials      []Denied     `json:"denials"`   // what its sandbox refused it, oldest first

	ConfigSchema json.RawMessage   `json:"config_schema"` // null: it declares none
	Config       map[string]any    `json:"config"`        // in force, without secrets
	ConfigUser   map[string]any    `json:"config_user"`   // the part that stands in config.toml, without secrets
	ConfigFrom   map[string]string `json:"config_from"`   // user or project, for each name in config

	CommandDocs   []dialect.CommandDoc   `json:"command_docs"`
	Notifications []dialect.Notification `json:"notifications"` // the last ones, oldest first

	Lock TrustDetail `json:"lock"`

	Problems []dialect.Problem `json:"problems"`
	Warnings []dialect.Problem `json:"warnings"`
}

// A Wire is one hook on one point.
type Wire struct {
	Hook      string     `json:"hook"`
	Point     hook.Point `json:"point"`
	Mode      hook.Mode  `json:"mode"`
	Priority  int        `json:"priority"`
	Connected bool       `json:"connected"` // by the configuration, not natively
	For       string     `json:"for"`       // what it is for, such as a pattern of commands; "": everything
	OwnMode   string     `json:"own_mode"`  // how its protocol calls what it does; "": it has no word for it
	TimeoutMS int64      `json:"timeout_ms"`
}

// A Capability is something a plugin declares it needs, and whether the system holds it to that.
type Capability struct {
	Capability string `json:"capability"`
	Status     string `json:"status"` // enforced | partial | not_enforced
	Reason     string `json:"reason"`
}

// A Mount is a file or directory that a confined plugin sees, with all below it. It sees nothing
// else.
type Mount struct {
	Path    string `json:"path"`
	Access  string `json:"access"`  // read | execute | write; the last two include the first
	Because string `json:"because"` // why it is there: a capability, or what it is
}

// System reports whether the mount is one that every confined plugin has.
func (m Mount) System() bool {
	return m.Because == sandbox.BecauseSystem || m.Because == sandbox.BecauseDevice
}

// Counters count what happened to a plugin since the host was opened.
type Counters struct {
	Calls                int64 `json:"calls"`
	Errors               int64 `json:"errors"`
	Timeouts             int64 `json:"timeouts"`
	Restarts             int   `json:"restarts"`
	Notifications        int64 `json:"notifications"`
	NotificationsDropped int64 `json:"notifications_dropped"`
}

// Plugins lists every plugin that was found, also those that are not running. It is answered from
// memory, as [Host.Counters] is, and [Host.Plugin] but for the text of the manifest: no plugin is
// asked for anything.
func (h *Host) Plugins() []PluginInfo {
	entries := h.roster().entries
	out := make([]PluginInfo, 0, len(entries))
	for _, e := range entries {
		out = append(out, h.info(e))
	}
	return out
}

// Plugin tells all about one plugin, by its name, or by DIALECT:NAME where two dialects have one of
// that name.
func (h *Host) Plugin(name string) (*PluginDetail, error) {
	e, err := h.find(name)
	if err != nil {
		return nil, err
	}
	problems, warnings := e.problems()
	d := &PluginDetail{PluginInfo: h.info(e), Wiring: h.wiring(e), Capabilities: h.capabilities(e), Mounts: e.mounts.list(),
		Problems: orEmpty(problems), Warnings: orEmpty(warnings)}
	d.Author, d.License, d.Homepage = e.info.Author, e.info.License, e.info.Homepage
	d.Protocol, d.CommandDocs = e.info.Protocol, orEmpty(e.info.CommandDocs)
	d.Knobs, d.ConfigFiles, d.Notifications = h.knobs(e), h.configFiles(e), orEmpty(e.tally.notifications())
	d.Lock = h.trustDetail(e)
	d.Counters, d.Recent, d.Denials = e.tally.count(), e.tally.Recent(), orEmpty(e.tally.denials())
	_, disabled := e.own.disabled()
	d.Enabled, d.Manifest = !disabled, h.manifest(e)
	h.describeConfig(e, d)
	return d, nil
}

// configFiles are the files that have config for a plugin.
func (h *Host) configFiles(e *entry) []string {
	files := []string{}
	user, project := h.setup().given.Load().layers(e.names)
	for _, l := range []layer{user, project} {
		if l.table != nil {
			files = append(files, l.file)
		}
	}
	return files
}

// Tools lists every tool of the plugins that are ready, by name.
func (h *Host) Tools() []Tool {
	r := h.roster()
	out := make([]Tool, 0, len(r.tools))
	for _, e := range r.entries {
		if _, ok := e.plugin.(dialect.ToolCaller); !ok {
			continue
		}
		for _, t := range e.tools() {
			if r.toolOwner(t.Name) == e {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (h *Host) info(e *entry) PluginInfo {
	hooks := e.info.Hooks
	if e.plugin != nil {
		hooks = e.plugin.Info().Hooks // as they are now: a plugin may have been reloaded
	}
	p := PluginInfo{
		Name: e.info.Name, Dialect: e.found.Dialect, Version: e.info.Version, Description: e.info.Description,
		Path: e.found.Path, Project: e.found.Project, State: e.state, Hooks: orEmpty(hooks), Tools: []string{},
		Commands: orEmpty(e.info.Commands), Methods: orEmpty(e.info.Methods), Kinds: orEmpty(e.info.Kinds),
		Priority: e.priority(), Health: string(e.state), Trust: e.trust.State,
	}
	for _, t := range e.tools() {
		p.Tools = append(p.Tools, t.Name)
	}
	err := e.err
	if e.plugin != nil {
		status := e.plugin.Status()
		if status.Pid != 0 {
			p.Pid = &status.Pid
		}
		p.Health, err = status.Health, cmp.Or(err, status.Err)
	}
	if err != nil {
		text := h.Hidden().Clean(err.Error()) // it may have a plugin's last words in it
		p.Error = &text
	}
	return p
}

// wiring lists where a plugin's hooks are, in the order of the points.
func (h *Host) wiring(e *entry) []Wire {
	wires := []Wire{}
	for _, spec := range hook.Points() {
		for _, hk := range h.bus.Hooks(spec.Point) {
			if hk.Counters == &e.tally.Counters {
				wires = append(wires, Wire{Hook: hk.Name, Point: hk.Point, Mode: spec.Mode, Priority: hk.Priority, Connected: hk.Connected,
					For: hk.For, OwnMode: hk.OwnMode, TimeoutMS: hk.Timeout.Milliseconds()})
			}
		}
	}
	return wires
}

// HookedBy lists the plugins that hook a point, in the order in which they are asked.
func (h *Host) HookedBy(point hook.Point) []string {
	var names []string
	for _, hk := range h.bus.Hooks(point) {
		if !slices.Contains(names, hk.Plugin) {
			names = append(names, hk.Plugin)
		}
	}
	return names
}

// find is the entry of a name; a ready plugin goes before one that is not.
func (h *Host) find(name string) (*entry, error) {
	found := h.roster().meant(name)
	if ready := slices.DeleteFunc(slices.Clone(found), func(e *entry) bool { return e.plugin == nil }); len(ready) > 0 {
		found = ready
	}
	switch {
	case len(found) == 0:
		return nil, dialect.WithFix(fmt.Errorf("plugin %s: %w", name, ErrNotFound), dialect.Meant(name, h.names()))
	case len(found) > 1 && found[0].found.Dialect != found[1].found.Dialect:
		one, two := found[0].found.Dialect, found[1].found.Dialect
		return nil, dialect.WithFix(fmt.Errorf("plugin %s: %w: one of %s and one of %s", name, ErrAmbiguous, one, two),
			fmt.Sprintf("write %s:%s or %s:%s", one, name, two, name))
	}
	return found[0], nil
}

// meant are the plugins that a name means, alone or behind their dialect's. The name of a plugin's
// place goes before what another calls itself. A name that no plugin has may be that of a file,
// with its extension.
//
// The user's own go before those of a project.
func (r *roster) meant(name string) []*entry {
	if found, known := r.meantOf(name, true); found != nil || known {
		return found
	}
	found, _ := r.meantOf(name, false)
	return found
}

// meantOf is meant for the user's own plugins, or for those of a project. known says that somebody
// has the name who is not among the entries.
func (r *roster) meantOf(name string, own bool) (found []*entry, known bool) {
	those := func(match func(*entry) bool) []*entry {
		return r.those(func(e *entry) bool { return own == (e.found.Project == "") && match(e) })
	}
	owners := those(func(e *entry) bool { return e.names.placed(name) })
	if owners != nil || own && !r.closed && len(r.names.placed(name)) > 0 {
		return owners, true
	}
	if found := those(func(e *entry) bool { return e.names.bears(name) }); found != nil {
		return found, true
	}
	return those(func(e *entry) bool {
		file := filepath.Base(e.found.Path)
		return file == name || e.found.Dialect+":"+file == name
	}), false
}

func (r *roster) those(match func(*entry) bool) []*entry {
	var found []*entry
	for _, e := range r.entries {
		if match(e) {
			found = append(found, e)
		}
	}
	return found
}

func (h *Host) names() []string {
	var names []string
	for _, e := range h.roster().entries {
		names = append(names, e.info.Name, e.names.place)
	}
	return names
}

func (h *Host) noTool(name string) error {
	return dialect.WithFix(fmt.Errorf("tool %s: %w", name, ErrNotFound), dialect.Meant(name, h.toolNames()))
}

func (h *Host) toolNames() []string {
	var names []string
	for _, t := range h.Tools() {
		names = append(names, t.Name)
	}
	return names
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// A PluginCount is what happened to one plugin since the host was opened.
type PluginCount struct {
	Plugin  string
	Dialect string
	Counters
}

// Counters are the counters of every plugin that is running.
func (h *Host) Counters() []PluginCount {
	var counts []PluginCount
	for _, e := range h.roster().entries {
		if e.plugin != nil {
			counts = append(counts, PluginCount{e.info.Name, e.found.Dialect, e.tally.count()})
		}
	}
	return counts
}
