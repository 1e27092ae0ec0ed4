package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/trust"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// A projectView is what a project has for Patchbay, in the form of `patchbay project status
// --json`.
type projectView struct {
	Root     string                 `json:"root"`
	State    projectfiles.State     `json:"state"`
	Reason   string                 `json:"reason"` // why its plugins do not run; "": they run, or there are none
	Fix      string                 `json:"fix"`
	Digest   string                 `json:"digest"` // of the plugins; "": there are none
	Plugins  []projectPlugin        `json:"plugins"`
	Files    []string               `json:"files"`
	Changes  []trust.Change         `json:"changes"` // since the plugins were trusted
	Agents   *projectAgents         `json:"agents_md"`
	Prompts  []projectfiles.Prompt  `json:"prompts"`
	Problems []projectfiles.Problem `json:"problems"` // files that cannot be used
	Config   []string               `json:"config"`   // settings in its config.toml
	Foreign  bool                   `json:"foreign"`  // the project belongs to another user
}

type projectPlugin struct {
	Name         string   `json:"name"`
	Dialect      string   `json:"dialect"`
	Path         string   `json:"path"` // its path in the project
	Error        string   `json:"error"`
	Known        bool     `json:"known"` // its files declare its hooks; else it declares them when it runs
	Hooks        []string `json:"hooks"`
	Tools        []string `json:"tools"`
	Commands     []string `json:"commands"`
	Capabilities []string `json:"capabilities"`
	Confined     bool     `json:"confined"` // the sandbox enforces the capabilities; else it may do everything that the user may
}

type projectAgents struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	Cut   bool   `json:"cut"`
	Error string `json:"error"`
}

// projectView inspects a project. staged is a copy of its plugins, or nil if there are none that
// could be trusted.
func (a *app) projectView(p projectRef) (*projectView, *projectfiles.Staged, error) {
	v := &projectView{Root: p.root, Plugins: []projectPlugin{}, Files: []string{}, Changes: []trust.Change{}, Config: []string{}}
	status := p.store.Look(p.root)
	v.State, v.Foreign = status.State, status.Foreign
	v.Reason, v.Fix = pluginhost.ProjectProblem(status)
	v.Prompts, v.Problems = p.store.Prompts(p.root, tui.Reserved)
	v.Prompts, v.Problems = orNone(v.Prompts), orNone(v.Problems)
	if agents := p.store.Agents(p.root); agents.Path != "" {
		v.Agents = &projectAgents{Path: agents.Path, Size: agents.Size, Cut: agents.Cut}
		if agents.Err != nil {
			v.Agents.Error = agents.Err.Error()
		}
	}
	if err := a.projectConfig(v, p); err != nil {
		return nil, nil, err
	}
	if status.State == projectfiles.None && !status.Foreign {
		return v, nil, nil
	}
	staged, err := p.store.Stage(p.root)
	if is[*projectfiles.CopyError](err) {
		return nil, nil, err
	}
	if err != nil {
		v.State, v.Reason, v.Fix = projectfiles.Refused, err.Error(), cmp.Or(fixes.Of(err), "change that in the project, then: patchbay project trust")
		return v, nil, nil
	}
	return v, staged, a.projectPlugins(v, staged)
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// projectConfig lists the settings in the project's config.toml.
func (a *app) projectConfig(v *projectView, p projectRef) error {
	dirs, err := a.configDirs()
	if err != nil {
		return err
	}
	plugins, err := pluginConfigOf(p, dirs)
	if err != nil {
		v.Problems = append(v.Problems, mistakesIn(projectConfigFile(p.root), err)...)
	}
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		for _, key := range slices.Sorted(maps.Keys(plugins[name])) {
			v.Config = append(v.Config, document.KeyPath(name, key))
		}
	}
	return nil
}

// pluginConfigOf returns the config that the project's config.toml has for plugins, by their names.
func pluginConfigOf(p projectRef, dirs config.Dirs) (map[string]map[string]any, error) {
	if !p.store.ReadsConfig(p.root) || projectConfigFile(p.root) == dirs.ConfigFile {
		return nil, nil
	}
	read, err := config.LoadProject(p.root)
	if err != nil {
		return nil, err
	}
	return read.Plugins, nil
}

func projectConfigFile(root string) string {
	return filepath.Join(root, filepath.FromSlash(config.ProjectFile))
}

// mistakesIn returns the mistakes in a project's configuration. Their messages do not repeat the
// path of the file.
func mistakesIn(file string, err error) []projectfiles.Problem {
	bad, ok := errors.AsType[*config.Error](err)
	if !ok {
		return []projectfiles.Problem{{Path: file, Message: err.Error()}}
	}
	var out []projectfiles.Problem
	for _, p := range bad.Problems {
		p.File = ""
		out = append(out, projectfiles.Problem{Path: file, Message: p.String()})
	}
	return out
}

// projectPlugins lists the plugins in the copy.
func (a *app) projectPlugins(v *projectView, staged *projectfiles.Staged) error {
	dirs, err := a.configDirs()
	if err != nil {
		return err
	}
	read, err := config.Load(dirs.ConfigFile)
	if err != nil {
		return err
	}
	v.Digest, v.Changes = staged.Digest, orNone(staged.Changes)
	for _, f := range staged.Files {
		v.Files = append(v.Files, f.Path)
	}
	for _, f := range pluginhost.PluginsIn(staged.Dir, a.Environ) {
		v.Plugins = append(v.Plugins, viewOf(f, staged, read.Sandbox))
	}
	return nil
}

func viewOf(f dialect.Found, staged *projectfiles.Staged, sandbox config.Sandbox) projectPlugin {
	p := projectPlugin{Name: f.Name, Dialect: f.Dialect, Path: filepath.Join(staged.Plugins(), filepath.Base(f.Path)),
		Hooks: []string{}, Tools: []string{}, Commands: []string{}, Capabilities: []string{}}
	if f.Err != nil {
		p.Error = strings.ReplaceAll(f.Err.Error(), staged.Dir, staged.Plugins())
	}
	if f.Info == nil {
		return p
	}
	p.Known, p.Hooks, p.Commands = true, orNone(f.Info.Hooks), orNone(f.Info.Commands)
	for _, t := range f.Info.Tools {
		p.Tools = append(p.Tools, t.Name)
	}
	p.Capabilities = orNone(pluginhost.CapabilitiesOf(f.Info))
	p.Confined = f.Info.Needs != nil && (sandbox == config.SandboxDeclared || sandbox == config.SandboxKaged && f.Dialect == "kaged")
	return p
}

// capabilities returns the capabilities to record as granted.
func (v *projectView) capabilities() []string {
	list := []string{}
	for _, p := range v.Plugins {
		for _, c := range p.Capabilities {
			list = append(list, p.Name+" "+c)
		}
	}
	return list
}

// may returns what a plugin may do.
func (p projectPlugin) may() string {
	switch {
	case p.Error != "":
		return "does not work: " + p.Error
	case !p.Confined:
		return "may do everything that you may"
	case len(p.Capabilities) == 0:
		return "confined to its own files"
	}
	return "confined to " + strings.Join(p.Capabilities, ", ")
}

// does returns the hooks, tools and commands of a plugin.
func (p projectPlugin) does() string {
	if !p.Known {
		return "says what it hooks when it runs"
	}
	var parts []string
	for _, list := range []struct {
		label string
		names []string
	}{{"hooks ", p.Hooks}, {"tools ", p.Tools}, {"commands ", p.Commands}} {
		if len(list.names) > 0 {
			parts = append(parts, list.label+strings.Join(list.names, ", "))
		}
	}
	return strings.Join(append(parts, ""), "; ")
}

// shownFiles limits how many files a question lists.
const shownFiles = 12

// printProjectPlugins shows the plugins to trust. Before a question only the first files are
// listed, unless whole is set.
func (a *app) printProjectPlugins(v *projectView, whole bool) {
	o := a.screen()
	if v.Foreign {
		a.printf("%s\n", o.Paint(render.StyleYellow, "The project belongs to another user."))
	}
	switch {
	case len(v.Plugins) == 0:
		a.sayf("%s has no plugin, only other files. A plugin must be directly below %s.\n", o.Paint(render.StyleBold, a.place(v.Root)), projectfiles.PluginsDir)
	case !whole:
		a.printf("%s has %s:\n\n", o.Paint(render.StyleBold, a.place(v.Root)), render.Count(len(v.Plugins), "plugin"))
	}
	for _, p := range v.Plugins {
		a.printf("  %s %s\n", o.Paint(render.StyleBold, render.Line(p.Name)), o.Paint(render.StyleDim, p.Dialect))
		for _, line := range []string{strings.TrimSuffix(p.does(), "; "), p.may()} {
			if line != "" {
				a.sayf("    %s\n", render.Line(line))
			}
		}
	}
	if v.State == projectfiles.Changed {
		a.printf("\n%s\n", o.Paint(render.StyleYellow, "They have changed since you trusted them:"))
		a.printProjectFiles(v.Changes, whole)
		return
	}
	var files []trust.Change
	a.printf("\n")
	for _, f := range v.Files {
		files = append(files, trust.Change{Path: f, Kind: "added"})
	}
	a.printProjectFiles(files, whole)
}

// shownLines limits how many changed lines a question shows.
const shownLines = 40

// printProjectChanges shows the changed lines, if there are few enough to read before a question,
// or all is set.
func (a *app) printProjectChanges(staged *projectfiles.Staged, all bool) error {
	changes, err := staged.Explain()
	if err != nil || len(changes) == 0 {
		return err
	}
	addDiffs(changes)
	lines := 0
	for _, c := range changes {
		lines += 1 + strings.Count(c.Diff, "\n")
	}
	if lines > shownLines && !all {
		a.sayf("\n`patchbay project status --diff` shows the %d lines around the changes.\n", lines)
		return nil
	}
	a.printf("\n")
	a.printFileChanges(changes)
	return nil
}

func (a *app) printProjectFiles(changes []trust.Change, whole bool) {
	if len(changes) == 0 {
		return
	}
	o := a.screen()
	shown := changes
	if len(shown) > shownFiles && !whole {
		shown = shown[:shownFiles]
	}
	for _, c := range shown {
		a.printf("  %s\n", changeLine(o, trust.Change{Path: projectfiles.PluginsDir + "/" + c.Path, Kind: c.Kind}))
	}
	if more := len(changes) - len(shown); more > 0 {
		a.printf("  and %s; `patchbay project status` lists them\n", render.Count(more, "more file"))
	}
}

// printProject shows everything that a project has for Patchbay.
func (a *app) printProject(v *projectView) {
	o := a.screen()
	a.printf("%s\n", o.Paint(render.StyleBold, a.place(v.Root)))
	rows := [][]render.Cell{a.labelled("AGENTS.md", agentsText(v.Agents)), a.labelled("prompts", promptsText(v.Prompts)),
		a.labelled("config", orDash(strings.Join(v.Config, ", "))),
		{{}, {Text: "plugins", Style: render.StyleDim}, {Text: string(v.State), Style: projectStyle(v.State)}}}
	_ = render.Table(a.out, rows, o) // a.out keeps the error
	if v.Reason != "" {
		a.sayf("\n%s\n", render.Block(v.Reason))
		if v.Fix != "" {
			a.sayf("%s %s\n", o.Paint(render.StyleGreen, "fix:"), render.Line(v.Fix))
		}
	}
	if len(v.Plugins) > 0 {
		a.printf("\n")
		a.printProjectPlugins(v, true)
	}
	for _, p := range v.Problems {
		a.sayf("\n%s %s: %s\n", o.Paint(render.StyleYellow, "cannot be used:"), a.place(p.Path), render.Line(p.Message))
	}
}

func agentsText(p *projectAgents) string {
	switch {
	case p == nil:
		return "none"
	case p.Error != "":
		return "left out: " + strings.TrimPrefix(p.Error, projectfiles.AgentsFile+": ")
	case p.Cut:
		return fmt.Sprintf("the first %d KiB of %d are part of the prompt", projectfiles.MostAgents>>10, (p.Size+1023)>>10)
	}
	return fmt.Sprintf("part of the prompt, %s", render.Count(int(p.Size), "byte"))
}

func promptsText(prompts []projectfiles.Prompt) string {
	var names []string
	for _, p := range prompts {
		names = append(names, "/"+p.Name)
	}
	return orDash(strings.Join(names, ", "))
}

func projectStyle(s projectfiles.State) render.Style {
	switch s {
	case projectfiles.Trusted:
		return render.StyleGreen
	case projectfiles.None, projectfiles.Declined:
		return render.StyleDim
	case projectfiles.Refused:
		return render.StyleRed
	}
	return render.StyleYellow
}
