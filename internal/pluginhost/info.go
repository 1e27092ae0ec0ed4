package pluginhost

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// PluginInfo describes one plugin, as `patchbay plugin list --json` prints it.
type PluginInfo struct {
	Name        string        `json:"name" doc:"The name under which it is shown and called." example:"words"`
	Dialect     string        `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Version     string        `json:"version" doc:"Its version; empty if it declares none." example:"1.2.0"`
	Description string        `json:"description" doc:"Its description." example:"counts words"`
	Path        string        `json:"path" doc:"Its file or directory." example:"/home/mira/.local/scaffold/plugins/words.py"`
	Project     string        `json:"project" doc:"The root of the project that it belongs to; empty if it is the user's own." example:""`
	State       dialect.State `json:"state" enum:"ready,broken,disabled,skipped,unsupported" doc:"Whether it works." example:"ready"`
	Hooks       []string      `json:"hooks" doc:"Its hooks, by their names in the dialect." example:"[\"post_user_input\"]"`
	HookCount   int           `json:"-"` // a plugin may have several hooks of one name
	Tools       []string      `json:"tools" doc:"The full names of its tools." example:"[\"plugin_words_count\"]"`
	Commands    []string      `json:"commands" doc:"Its own commands." example:"[\"words\"]"`
	Methods     []string      `json:"methods" doc:"Its own methods." example:"[\"notes.count\"]"`
	Kinds       []string      `json:"kinds" doc:"Its kinds, if it is a dotagent plugin." example:"[\"sink\"]"`
	Priority    int           `json:"priority" doc:"Its place in the order in which plugins are called at a point." example:"500"`
	Pid         *int          `json:"pid" doc:"Its process id; null if it has no process now." example:"22188"`
	Error       *string       `json:"error" doc:"Why it is not ready, or why it last died; null if there is no error." example:"it ended with exit code 3"`
	Health      string        `json:"health" doc:"The health of its process: ok, restarting, failing, stopped, unknown if it was not asked, or a word of its dialect. Without a process, its state." example:"ok"`
	Trust       trust.State   `json:"trust" doc:"Whether its files are as recorded in patchbay.lock; empty if it has no files to record." example:"trusted"`
}

// PluginDetail is everything that the host knows about one plugin.
type PluginDetail struct {
	PluginInfo
	Author       string       `json:"author" doc:"Its author; may be empty." example:"Mira Okonkwo"`
	License      string       `json:"license" doc:"Its license; may be empty." example:"MIT"`
	Homepage     string       `json:"homepage" doc:"Its homepage; may be empty." example:"https://example.org/words"`
	Protocol     string       `json:"protocol_version" doc:"The version of its dialect's protocol; empty if it declares none." example:"1"`
	Wiring       []Wire       `json:"wiring" doc:"Its hooks, in the order of the points."`
	Knobs        []Knob       `json:"knobs" doc:"Its settings that a person may change."`
	ConfigFiles  []string     `json:"config_files" doc:"The files with config for it. Values of later files replace those of earlier ones." example:"[\"/home/mira/.config/patchbay/config.toml\"]"`
	ConfigKeys   [][]string   `json:"-"` // the settings in each of these files, sorted
	Enabled      bool         `json:"enabled" doc:"Whether the configuration enables it." example:"true"`
	Manifest     *Manifest    `json:"manifest" doc:"The file in which it describes itself; null if its dialect has none."`
	Capabilities []Capability `json:"capabilities" doc:"What it may do: the capabilities that the configuration grants it, or else those that it declares."`
	Mounts       []Mount      `json:"mounts" doc:"The files that it really sees; empty if it is not confined, or was not started yet."`
	Counters     Counters     `json:"counters" doc:"Counters since the daemon started."`
	Recent       []uint32     `json:"recent_us" doc:"How many microseconds its last calls took, up to 64, the oldest first." example:"[412,388,1024]"`
	Denials      []Denied     `json:"denials" doc:"The look-ups and connections that its sandbox refused, up to 50 different ones, the oldest first."`

	ConfigSchema json.RawMessage   `json:"config_schema" doc:"JSON Schema of its config; null if it declares none." example:"{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\"}}}"`
	Config       map[string]any    `json:"config" doc:"Its config in force. A secret is shown as …" example:"{\"level\":3,\"api_key\":\"…\"}"`
	ConfigUser   map[string]any    `json:"config_user" doc:"The part of its config that is in config.toml. A change of the configuration replaces this part." example:"{\"level\":3,\"api_key\":\"…\"}"`
	ConfigFrom   map[string]string `json:"config_from" doc:"Where each value in config comes from: user (config.toml) or project." example:"{\"level\":\"user\",\"api_key\":\"user\"}"`

	CommandDocs   []dialect.CommandDoc   `json:"command_docs" doc:"The descriptions of its commands."`
	Notifications []dialect.Notification `json:"notifications" doc:"Its last notifications, up to 100, the oldest first."`

	Lock TrustDetail `json:"lock" doc:"Its entry in patchbay.lock."`

	Problems []dialect.Problem `json:"problems" doc:"Errors in its files."`
	Warnings []dialect.Problem `json:"warnings" doc:"Warnings about its files."`
}

// A Wire is one hook at one point.
type Wire struct {
	Hook      string     `json:"hook" doc:"The hook, by its name in the dialect." example:"post_user_input"`
	Point     hook.Point `json:"point" doc:"The point at which it is called." example:"turn.input"`
	Mode      hook.Mode  `json:"mode" enum:"chain,first,gate,notify" doc:"The point's mode." example:"chain"`
	Priority  int        `json:"priority" doc:"Its place in the order of the point." example:"500"`
	Connected bool       `json:"connected" doc:"Connected by the configuration, not by the plugin." example:"false"`
	For       string     `json:"for" doc:"What it is limited to, such as a pattern of commands; empty: no limit." example:"git *"`
	OwnMode   string     `json:"own_mode" doc:"The mode in the words of its protocol; may be empty." example:"transform"`
	TimeoutMS int64      `json:"timeout_ms" doc:"The time limit of a call, in milliseconds." example:"5000"`
}

// A Capability is something that a plugin may do or declares it needs, and whether the system
// enforces it.
type Capability struct {
	Capability string `json:"capability" doc:"The capability, in the words of its dialect." example:"net:example.org:443"`
	Status     string `json:"status" enum:"enforced,partial,not_enforced" doc:"Whether the sandbox enforces it." example:"enforced"`
	Reason     string `json:"reason" doc:"How it is enforced, or why it is not; may be empty." example:"by a network namespace"`
}

// A Mount is a file or directory that a confined plugin sees, with everything below it. The plugin
// sees nothing else.
type Mount struct {
	Path    string `json:"path" doc:"A file, or a directory with everything below it." example:"/usr"`
	Access  string `json:"access" enum:"read,execute,write,missing" doc:"execute and write include read; missing may be read, but does not exist." example:"execute"`
	Because string `json:"because" doc:"The capability that grants it, or what it is." example:"system"`
}

// System reports whether every confined plugin has this mount.
func (m Mount) System() bool {
	return m.Because == sandbox.BecauseSystem || m.Because == sandbox.BecauseDevice
}

// Counters counts the calls and other events of a plugin since the host was opened.
type Counters struct {
	Calls                int64 `json:"calls" doc:"Calls that have ended." example:"128"`
	Errors               int64 `json:"errors" doc:"Calls that failed." example:"2"`
	Timeouts             int64 `json:"timeouts" doc:"Calls that took too long." example:"1"`
	Restarts             int   `json:"restarts" doc:"How often its process was started again." example:"1"`
	Notifications        int64 `json:"notifications" doc:"Notifications that it sent." example:"7"`
	NotificationsDropped int64 `json:"notifications_dropped" doc:"Notifications that came too fast, or are not declared." example:"0"`
}

// Plugins lists every plugin that was found, including those that are not running. It answers from
// memory and calls no plugin. The same is true of [Host.Counters], and of [Host.Plugin], which also
// reads the manifest.
func (h *Host) Plugins() []PluginInfo {
	entries := h.roster().entries
	out := make([]PluginInfo, 0, len(entries))
	for _, e := range entries {
		out = append(out, h.info(e))
	}
	return out
}

// Plugin returns everything about one plugin. If plugins of two dialects have the name, write
// DIALECT:NAME.
func (h *Host) Plugin(name string) (*PluginDetail, error) {
	e, err := h.find(name)
	if err != nil {
		return nil, err
	}
	problems, warnings := h.problems(e)
	d := &PluginDetail{PluginInfo: h.info(e), Wiring: h.wiring(e), Capabilities: h.capabilities(e), Mounts: e.mounts.list(),
		Problems: orEmpty(problems), Warnings: orEmpty(warnings)}
	d.Author, d.License, d.Homepage = e.info.Author, e.info.License, e.info.Homepage
	d.Protocol, d.CommandDocs = e.info.Protocol, orEmpty(e.info.CommandDocs)
	d.Knobs, d.Notifications = h.knobs(e), orEmpty(e.tally.notifications())
	d.ConfigFiles, d.ConfigKeys = h.configFiles(e)
	d.Lock = h.trustDetail(e)
	d.Counters, d.Recent, d.Denials = e.tally.count(), e.tally.Recent(), orEmpty(e.tally.denials())
	_, disabled := e.own.disabled()
	d.Enabled, d.Manifest = !disabled, h.manifest(e)
	h.describeConfig(e, d)
	return d, nil
}

// configFiles returns the files that have config for a plugin, and the settings in each.
func (h *Host) configFiles(e *entry) (files []string, keys [][]string) {
	files = []string{}
	user, project := h.layersInUse(e)
	for _, l := range []layer{user, project} {
		if l.table != nil {
			files = append(files, l.file)
			keys = append(keys, slices.Sorted(maps.Keys(l.table)))
		}
	}
	return files, keys
}

// Tools lists every tool of the plugins that are ready, sorted by name.
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
		hooks = e.plugin.Info().Hooks // their current list: a plugin may have been reloaded
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
	p.HookCount = len(p.Hooks)
	w := e.wiring()
	if d, ok := e.dialect.(dialect.Declarer); ok && w == nil && e.state == dialect.Skipped {
		w, _ = d.Declared(e.found, e.err)
	}
	if w != nil {
		p.HookCount = max(p.HookCount, countHooks(w.Hooks()))
	}
	err := e.err
	if e.plugin != nil {
		status := e.plugin.Status()
		if status.Pid != 0 {
			p.Pid = &status.Pid
		}
		p.Health, err = status.Health, cmp.Or(err, status.Err)
		if errors.Is(status.Err, hook.Outdated) {
			p.State = dialect.Broken // it is not called again
		}
	}
	if err != nil {
		text := h.Hidden().Clean(err.Error()) // it may quote the plugin's stderr
		p.Error = &text
	}
	return p
}

// countHooks counts the hooks that a plugin declares. Hooks at several points count once if they
// have the same name and the same pattern.
func countHooks(hooks []hook.Hook) int {
	type declared struct{ name, pattern string }
	seen := make(map[declared]bool)
	for _, hk := range hooks {
		seen[declared{hk.Name, hk.For}] = true
	}
	return len(seen)
}

// wiring lists a plugin's hooks, in the order of the points.
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

// HookedBy lists the plugins that hook a point, in the order in which they are called.
func (h *Host) HookedBy(point hook.Point) []string {
	var names []string
	for _, hk := range h.bus.Hooks(point) {
		if !slices.Contains(names, hk.Plugin) {
			names = append(names, hk.Plugin)
		}
	}
	return names
}

// find returns the entry that a name means. It prefers a ready plugin to one that is not.
func (h *Host) find(name string) (*entry, error) { return h.roster().find(name) }

func (r *roster) find(name string) (*entry, error) {
	found := r.meant(name)
	if ready := slices.DeleteFunc(slices.Clone(found), func(e *entry) bool { return e.plugin == nil }); len(ready) > 0 {
		found = ready
	}
	if len(found) == 0 {
		return nil, dialect.WithFix(fmt.Errorf("plugin %s: %w", name, ErrNotFound), dialect.Meant(name, r.shownNames()))
	}
	var each, write []string // once for each dialect
	for _, e := range found {
		if text := "one of " + e.found.Dialect; !slices.Contains(each, text) {
			each, write = append(each, text), append(write, e.found.Dialect+":"+name)
		}
	}
	if len(each) > 1 {
		return nil, dialect.WithFix(fmt.Errorf("plugin %s: %w: %s", name, ErrAmbiguous, strings.Join(each, " and ")), "write "+strings.Join(write, " or "))
	}
	return found[0], nil
}

// meant returns the plugins that a name means; the name may be DIALECT:NAME. The name of a plugin's
// place comes before the name that another plugin gives itself. If no plugin has the name, it may
// be the name of a file, with its extension. The user's own plugins come before those of a project.
func (r *roster) meant(name string) []*entry {
	if found, known := r.meantOf(name, true); found != nil || known {
		return found
	}
	found, _ := r.meantOf(name, false)
	return found
}

// meantOf implements meant for the user's own plugins, or for those of a project. known reports
// that a plugin with this name was found, even if it is not among the entries.
func (r *roster) meantOf(name string, own bool) (found []*entry, known bool) {
	matching := func(match func(*entry) bool) []*entry {
		return r.matching(func(e *entry) bool { return own == (e.found.Project == "") && match(e) })
	}
	owners := matching(func(e *entry) bool { return e.names.placed(name) })
	if owners != nil || own && !r.closed && len(r.names.placed(name)) > 0 {
		return owners, true
	}
	if found := matching(func(e *entry) bool { return e.names.hasName(name) }); found != nil {
		return found, true
	}
	return matching(func(e *entry) bool {
		file := filepath.Base(e.found.Path)
		return file == name || e.found.Dialect+":"+file == name
	}), false
}

func (r *roster) matching(match func(*entry) bool) []*entry {
	var found []*entry
	for _, e := range r.entries {
		if match(e) {
			found = append(found, e)
		}
	}
	return found
}

// shownNames returns the names of the plugins that are listed.
func (r *roster) shownNames() []string {
	var names []string
	for _, e := range r.entries {
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

// A PluginCount holds the counters of one plugin since the host was opened.
type PluginCount struct {
	Plugin  string
	Dialect string
	Counters
}

// Counters returns the counters of every running plugin.
func (h *Host) Counters() []PluginCount {
	var counts []PluginCount
	for _, e := range h.roster().entries {
		if e.plugin != nil {
			counts = append(counts, PluginCount{e.info.Name, e.found.Dialect, e.tally.count()})
		}
	}
	return counts
}
