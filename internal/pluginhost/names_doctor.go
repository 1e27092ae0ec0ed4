package pluginhost

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// examineConfig reports the problems of the configuration that only a host knows, because it has
// searched for plugins.
func (h *Host) examineConfig() []Finding {
	var findings []Finding
	if p, ok := h.setup().config.Exposed(); ok {
		findings = append(findings, problemFinding(p))
	}
	r := h.roster()
	for _, p := range slices.Concat(h.misplaced(r), h.unknownNames(r), h.oddSecrets(r)) {
		findings = append(findings, problemFinding(p))
	}
	for _, e := range r.entries {
		findings = append(findings, examinePlace(e, r.names)...)
	}
	return findings
}

// examinePlace reports a plugin that wants storage and has none, because another plugin of its
// dialect is in a directory of the same name.
func examinePlace(e *entry, names census) []Finding {
	wants := slices.ContainsFunc(e.info.Capabilities, func(c string) bool {
		return c == string(capability.StorageRead) || c == string(capability.StorageWrite)
	})
	if e.plugin == nil || !wants || e.found.Project != "" || names.gives(e.names.dialect+":"+e.names.place, e.names) {
		return nil
	}
	return []Finding{finding(SeverityWarning, e, e.found.Dialect, dialect.Problem{Path: e.found.Path,
		Message: fmt.Sprintf("it has no storage: another %s plugin is in a directory called %s, too", e.names.dialect, e.names.place),
		Fix:     "rename one of the directories"})}
}

func problemFinding(p config.Problem) Finding {
	f := Finding{Severity: SeverityWarning, Where: p.File, Problem: p.Message, Fix: p.Fix}
	if p.Line > 0 {
		f.Where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	return f
}

// A heading is the name of a [plugins.NAME] table in config.toml or secrets.toml.
type heading struct {
	key     string
	problem func(message, fix string, path ...any) config.Problem
	gives   []string         // the keys of the table that grant something
	closes  config.OnFailure // deny or abort: events end if the plugin cannot be asked; else ""
	secrets map[string]any   // the table, if it is in secrets.toml; else nil
}

// headings returns all headings, those of config.toml first.
func (s *setup) headings() []heading {
	var all []heading
	for _, key := range slices.Sorted(maps.Keys(s.config.Plugins)) {
		p := s.config.Plugins[key]
		x := heading{key: key, problem: s.config.Problem, gives: grantKeys(p)}
		if p.OnFailure == config.FailDeny || p.OnFailure == config.FailAbort {
			x.closes = p.OnFailure
		}
		all = append(all, x)
	}
	for _, key := range s.secrets.Plugins() {
		all = append(all, heading{key: key, problem: s.secrets.Problem, gives: []string{"the secrets"}, secrets: s.secrets.Plugin(key).Reveal()})
	}
	return all
}

// grantKeys returns the keys of a table that grant something to a plugin.
func grantKeys(p config.Plugin) []string {
	var keys []string
	if len(p.Env) > 0 {
		keys = append(keys, "env")
	}
	if p.AllowUnenforced {
		keys = append(keys, "allow_unenforced")
	}
	return keys
}

// problemf returns a problem with the table.
func (x heading) problemf(fix, format string, args ...any) config.Problem {
	key := document.KeyPath("plugins", x.key)
	return x.problem("["+key+"] "+fmt.Sprintf(format, args...), fix, "plugins", x.key)
}

// misplaced reports the tables whose name means several plugins, or only one to which they cannot
// grant anything.
func (h *Host) misplaced(r *roster) []config.Problem {
	var problems []config.Problem
	for _, x := range h.setup().headings() {
		meant := r.matching(func(e *entry) bool { return e.names.hasName(x.key) })
		if len(meant) == 0 {
			continue // not a plugin of this host
		}
		switch all, owners := r.names.withName(x.key), r.names.placed(x.key); {
		case len(all) > 1 && h.setup().NoSearch:
			problems = append(problems, r.besideInstalled(x, all)...)
		case len(all) > 1:
			problems = append(problems, x.problemf(oneOf(owners, all), "means %d plugins: %s. Its restrictions apply to all of them; "+
				"its grants go to %s", len(all), all.list(x.key), owners.receiver()))
		case len(all) == 1 && len(owners) == 0 && len(x.gives) > 0:
			problems = append(problems, x.problemf("write it under ["+document.KeyPath("plugins", all[0].place)+"]",
				"does not grant %s to %s, because that is only the name that the plugin gives itself", strings.Join(x.gives, " and "), all[0].path))
		case len(all) == 0 && len(x.gives) > 0 && meant[0].found.Project != "":
			problems = append(problems, x.problemf("remove it, or install the plugin as your own",
				"does not grant %s to the plugin of the project %s, because it is not your own", strings.Join(x.gives, " and "), meant[0].found.Project))
		}
	}
	return problems
}

// besideInstalled reports a table whose name is that of the plugin at a path, and of an installed
// one. Only the installed plugin gets the grants.
func (r *roster) besideInstalled(x heading, all census) []config.Problem {
	open := func(b pluginNames) bool {
		return slices.ContainsFunc(r.entries, func(e *entry) bool { return e.names.isSame(b) })
	}
	here, installed := all.matching(open), all.matching(func(b pluginNames) bool { return !open(b) })
	if len(x.gives) == 0 || len(here) == 0 || len(installed) == 0 {
		return nil
	}
	return []config.Problem{x.problemf("name the installed plugin by its path, or rename "+here[0].path+" and write a table for its new name",
		"is also about the installed plugin %s. The plugin at %s has its restrictions, but not %s", installed[0].path, here[0].path, strings.Join(x.gives, " and "))}
}

// list returns the plugins with a name as text.
func (c census) list(key string) string {
	var parts []string
	for _, b := range c {
		part := b.path + " (" + b.dialect
		if !b.placed(key) {
			part += ", which gives itself this name"
		}
		parts = append(parts, part+")")
	}
	return strings.Join(parts, ", ")
}

// receiver says which plugin of c gets the grants. The places of these plugins have the same name.
func (c census) receiver() string {
	if len(c) == 1 {
		return c[0].path + " alone"
	}
	return "none of them"
}

// oneOf returns how to write the name of one of several plugins.
func oneOf(owners, all census) string {
	for _, b := range append(slices.Clone(owners), all...) {
		if key := b.dialect + ":" + b.place; len(all.withName(key)) == 1 {
			return "to mean one of them, write [" + document.KeyPath("plugins", key) + "]"
		}
	}
	return "rename the directory or file of one of them"
}

// unknownNames reports the tables whose name no plugin has. A host that did not open every plugin
// cannot know, and reports none.
func (h *Host) unknownNames(r *roster) []config.Problem {
	if h.setup().Needs != nil {
		return nil
	}
	return h.nameless(r, func(x heading) bool { return x.closes == "" || !h.endsEvents(r, x) })
}

// lostGuards reports the tables that let events end if their plugin cannot be asked, and whose name
// no plugin has. A host that has not opened a plugin may not know what it calls itself, and reports
// none.
func (h *Host) lostGuards(r *roster) []config.Problem {
	for _, b := range r.names {
		if len(r.matching(func(e *entry) bool { return e.names.isSame(b) && e.names.called != "" })) == 0 && b.called == "" {
			return nil
		}
	}
	return h.nameless(r, func(x heading) bool { return x.closes != "" && !h.endsEvents(r, x) })
}

// endsEvents reports whether events end although no plugin has the name of a table: a file that is
// not executable has it, or a connection names it, whose hook then fails.
func (h *Host) endsEvents(r *roster, x heading) bool {
	return slices.ContainsFunc(r.scripts, func(e *entry) bool { return e.names.hasName(x.key) }) ||
		slices.ContainsFunc(h.setup().connections(), func(c config.Connect) bool { return c.Plugin == x.key })
}

// nameless reports those of the chosen tables whose name no plugin has.
func (h *Host) nameless(r *roster, chosen func(heading) bool) []config.Problem {
	if h.setup().NoSearch || h.setup().Dialects != nil {
		return nil
	}
	var known []string
	for _, b := range r.names {
		known = append(known, b.place, b.called, b.dialect+":"+b.place)
	}
	var problems []config.Problem
	for _, x := range h.setup().headings() {
		if !chosen(x) || len(r.names.withName(x.key)) > 0 || len(r.matching(func(e *entry) bool { return e.names.hasName(x.key) })) > 0 {
			continue
		}
		fix := "remove it, or install the plugin"
		if near := nearest.Word(x.key, known); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		effect := "has no effect"
		if x.closes != "" {
			effect = fmt.Sprintf("says on_failure = %q, but events go on", x.closes)
		}
		problems = append(problems, x.problemf(fix, "%s: no plugin is called %s", effect, document.Cut(x.key)))
	}
	return problems
}

// warnOfNames logs the problems that misplaced, oddSecrets and lostGuards report.
func (h *Host) warnOfNames(r *roster) {
	for _, p := range append(h.misplaced(r), h.oddSecrets(r)...) {
		h.warnOfTable(p)
	}
	for _, p := range h.lostGuards(r) {
		h.warnOfTable(p, dialect.FindingKey, true)
	}
}

// warnOfTable logs a problem of the configuration, once.
func (h *Host) warnOfTable(p config.Problem, more ...any) {
	if h.warned.first(p.Message) {
		h.setup().Logger.Warn(p.Message, append([]any{"file", p.File, "line", p.Line, "fix", p.Fix}, more...)...)
	}
}
