package pluginhost

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// ErrOfProject is returned for an action on a single plugin of a project: a project's plugins are
// trusted and forgotten together.
var ErrOfProject = errors.New("it comes with a project")

// A projectCache caches the state of a project until one of its files, or the record about it,
// changes.
type projectCache struct {
	mu     sync.Mutex // protects the fields below
	stamp  string
	status projectfiles.Status
}

// projectStatus returns the state of the project in which the plugins work.
func (s *setup) projectStatus() projectfiles.Status {
	if s.Dirs != nil || s.NoSearch || s.projectRoot == "" {
		return projectfiles.Status{State: projectfiles.None}
	}
	store := projectfiles.In(s.dirs)
	stamp := store.Stamp(s.projectRoot)
	s.project.mu.Lock()
	defer s.project.mu.Unlock()
	if s.project.status.Root == "" || s.project.stamp != stamp {
		s.project.stamp, s.project.status = stamp, store.Look(s.projectRoot)
	}
	return s.project.status
}

// projectPlugins lists the plugins of a dialect that a trusted project contains. They are taken
// from the copy that was trusted, never from the project itself.
func (s *setup) projectPlugins(d dialect.Dialect) []dialect.Found {
	status := s.projectStatus()
	if status.Copy == "" {
		return nil
	}
	var found []dialect.Found
	for _, f := range pluginsIn(status.Copy, s.dialects, s.env) {
		if f.Dialect == d.Name() {
			f.Project = status.Root
			found = append(found, f)
		}
	}
	return found
}

// projectTrust returns the verdict on every plugin of a trusted project.
func (s *setup) projectTrust() trust.Verdict {
	return trust.Verdict{State: trust.Trusted, Entry: s.projectStatus().Entry}
}

// PluginsIn lists the plugins in a directory, of any dialect. It starts none.
func PluginsIn(dir string, environ []string) []dialect.Found {
	return pluginsIn(dir, dialects(nil), dialect.Env{Vars: environ})
}

// pluginsIn asks the dialects about each entry of a directory; the first that recognises it owns
// it. Entries that none recognises, such as a README, are ignored.
func pluginsIn(dir string, dialects []dialect.Dialect, env dialect.Env) []dialect.Found {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the caller has made sure that the directory can be read
	}
	var all []dialect.Found
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		for _, d := range dialects {
			if f, ok := d.At(filepath.Join(dir, e.Name()), env); ok {
				all = append(all, f)
				break
			}
		}
	}
	return all
}

// hidden returns the path of the user's own plugin, of any dialect, that has the name of a
// project's plugin, or "" if there is none. The user's plugin comes first: a project must not
// replace a plugin that guards something.
func (s *search) hidden(b pluginNames) string {
	if b.project == "" {
		return ""
	}
	for _, own := range s.now.names {
		for _, name := range []string{b.place, b.called} {
			if name != "" && (own.place == name || own.called == name) {
				return own.path
			}
		}
	}
	return ""
}

// hide leaves out a project's plugin that has the name of one of the user's own.
func (s *search) hide(e *entry) {
	if e.hidden = s.hidden(e.names); e.hidden != "" && e.state != dialect.Disabled {
		e.state, e.err = dialect.Skipped, dialect.WithFix(fmt.Errorf("the project's plugin has the name of your own plugin, %s, which is used instead", e.hidden),
			"rename one of them")
	}
}

// projectFix returns the command that trusts a project.
func projectFix(root string) string {
	if wd, err := os.Getwd(); err == nil && ProjectRoot(wd) == root {
		return "patchbay project trust"
	}
	return "patchbay project trust " + program.Quote(root)
}

// examineProject reports which files of a project are not used, and why. It also reports which
// plugins and values come from the project.
func (h *Host) examineProject() []Finding {
	s := h.setup()
	status := s.projectStatus()
	if status.Root == "" {
		return nil
	}
	var findings []Finding
	add := func(severity Severity, where, problem, fix string) {
		findings = append(findings, Finding{Severity: severity, Where: where, Problem: problem, Fix: fix})
	}
	if problem, fix := ProjectProblem(status); problem != "" {
		severity := SeverityWarning
		if status.State == projectfiles.Declined {
			severity = SeverityInfo
		}
		add(severity, status.Plugins(), problem, fix)
	}
	findings = append(findings, h.fromProject(status)...)
	if wrong, ok := errors.AsType[*config.Error](s.configs.Load().unread); ok {
		for _, p := range wrong.Problems {
			findings = append(findings, finding(SeverityError, nil, "", dialect.Problem{Path: p.File, Line: p.Line, Column: p.Column,
				Message: projectStays + ": " + p.Message, Fix: p.Fix}))
		}
	}
	store := projectfiles.In(s.dirs)
	if !store.ReadsConfig(status.Root) {
		if _, err := os.Stat(s.projectFile()); err == nil {
			add(SeverityWarning, s.projectFile(), "the project's configuration is left out: it belongs to another user", "if you trust the project: "+projectFix(status.Root))
		}
	}
	if agents := store.Agents(status.Root); agents.Err != nil {
		add(SeverityWarning, agents.Path, agents.Banner(), "put a regular file of your own there, or remove it")
	} else if agents.Cut {
		add(SeverityWarning, agents.Path, fmt.Sprintf("only the first %d KiB of it are part of the prompt", projectfiles.MostAgents>>10), "make it shorter, or name other files in it")
	}
	_, problems := store.Prompts(status.Root, s.ReservedPrompt)
	for _, p := range problems {
		add(SeverityWarning, p.Path, "the prompt is left out: "+p.Message, "change or remove the file")
	}
	return findings
}

// fromProject reports which plugins and values come from the project.
func (h *Host) fromProject(st projectfiles.Status) []Finding {
	var findings []Finding
	var names []string
	for _, e := range h.roster().entries {
		if e.found.Project != "" && e.plugin != nil {
			names = append(names, e.info.Name)
		}
	}
	if len(names) > 0 {
		findings = append(findings, Finding{Severity: SeverityInfo, Where: st.Plugins(), Problem: "plugins of the project, which you trust: " + strings.Join(names, ", ")})
	}
	if configs := h.setup().configs.Load(); len(configs.project.Plugins) > 0 {
		names := slices.Sorted(maps.Keys(configs.project.Plugins))
		findings = append(findings, Finding{Severity: SeverityInfo, Where: configs.project.File(), Problem: "the project sets config of " + strings.Join(names, ", ") +
			": `patchbay config show plugins` lists it"})
	}
	return findings
}

// ProjectProblem returns why the plugins of a project are left out, and the fix. Both are "" if the
// plugins are used, or there are none.
func ProjectProblem(st projectfiles.Status) (problem, fix string) {
	switch st.State {
	case projectfiles.Untrusted:
		return "the project's plugins are left out: you have not trusted them yet", "look at them and decide: " + projectFix(st.Root)
	case projectfiles.Changed:
		return "the project's plugins are left out: they have changed since you trusted them: " + trust.Summary(st.Changes),
			"look at the changes and decide: " + projectFix(st.Root)
	case projectfiles.Declined:
		return "the project's plugins are left out: you said no to them", "if you have changed your mind: " + projectFix(st.Root)
	case projectfiles.Refused:
		return "the project's plugins are left out, and cannot be trusted as they are: " + st.Err.Error(),
			cmp.Or(fixes.Of(st.Err), "change that, then: "+projectFix(st.Root))
	}
	return "", ""
}

// warnOfProject logs once that the project's plugins are left out. It logs nothing if the user has
// declined them.
func (h *Host) warnOfProject() {
	status := h.setup().projectStatus()
	problem, fix := ProjectProblem(status)
	if problem == "" || status.State == projectfiles.Declined || !h.warned.first(problem) {
		return
	}
	h.setup().Logger.Warn(problem, "project", status.Root, "fix", fix, dialect.FindingKey, true)
}
