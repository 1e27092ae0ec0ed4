package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// askProject asks the user before a conversation whether to trust the project's plugins, if the
// user has not decided about them yet. The answer is valid for exactly the files that were shown.
func (a *app) askProject(ctx context.Context) error {
	p, err := a.projectNamed(nil)
	if err != nil {
		return err
	}
	if state := p.store.Look(p.root).State; state != projectfiles.Untrusted && state != projectfiles.Changed {
		return nil
	}
	view, staged, err := a.projectView(p)
	if err != nil || staged == nil {
		return err // the conversation shows why there is none
	}
	defer staged.Close() // Close does not remove a trusted copy
	a.printProjectPlugins(view, false)
	if err := a.printProjectChanges(staged, false); err != nil {
		return err
	}
	answer, err := a.ask(ctx, trustQuestion+" [y/N] ")
	if err != nil {
		return err
	}
	if !isYes(answer) {
		a.sayf("They do not run, and you are not asked again unless they change.\nIf you change your mind: patchbay project trust\n\n")
		return staged.Decline()
	}
	if err := staged.Trust(view.capabilities()); err != nil {
		return &problem{kind: kindFailed, err: err}
	}
	view.State = projectfiles.Trusted
	return a.showTrusted(ctx, p, view, "trusted")
}

// expandPrompt returns the text of a project's prompt for a line such as "/review main.go".
func (a *app) expandPrompt(line string) (string, bool) {
	if name, _ := tui.CommandOf(line); name == "" {
		return "", false
	}
	p, err := a.projectNamed(nil)
	if err != nil {
		return "", false // opening the project reports the error
	}
	prompts, _ := p.store.Prompts(p.root, tui.Reserved)
	return projectfiles.Expand(prompts, line)
}

// promptsFor is how long prompts stay cached. The menu reads them at every key.
const promptsFor = time.Second

// promptCommands returns the prompts of the session's project.
func (c *conversation) promptCommands() []tui.PromptCommand {
	dir := c.Session().WorkingDir
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.promptsOf == dir && time.Since(c.promptsAt) < promptsFor {
		return c.prompts
	}
	prompts, _ := projectfiles.In(c.core.Dirs).Prompts(pluginhost.ProjectRoot(dir), tui.Reserved) // the banner shows the problems
	var out []tui.PromptCommand
	for _, p := range prompts {
		out = append(out, tui.PromptCommand{Name: p.Name, About: p.About, Text: p.With})
	}
	c.prompts, c.promptsOf, c.promptsAt = out, dir, time.Now()
	return out
}

// printFromProject prints what comes from the project apart from settings.
func (a *app) printFromProject() error {
	p, err := a.projectNamed(nil)
	if err != nil {
		return err
	}
	var parts []string
	if status := p.store.Look(p.root); status.Copy != "" {
		for _, f := range pluginhost.PluginsIn(status.Copy, a.Environ) {
			parts = append(parts, "the plugin "+f.Name)
		}
	} else if status.State != projectfiles.None {
		parts = append(parts, "plugins, which do not run ("+string(status.State)+")")
	}
	if agents := p.store.Agents(p.root); agents.Path != "" {
		parts = append(parts, agents.Banner())
	}
	if len(parts) > 0 {
		a.sayf("\nFrom the project %s: %s. `patchbay project status` shows more.\n", a.place(p.root), render.Line(strings.Join(parts, ", ")))
	}
	return nil
}

// banner returns what the project has for Patchbay: one line for everything that is used, and one
// line for each thing that is not.
func (c *conversation) banner() []tui.BannerLine {
	root := pluginhost.ProjectRoot(c.Session().WorkingDir)
	var used []string
	var lines []tui.BannerLine
	warn := func(text string) { lines = append(lines, tui.BannerLine{Text: text, Warning: true}) }
	if agents := c.core.Instructions(root); agents.Err != nil {
		warn(agents.Banner())
	} else if agents.Text != "" {
		used = append(used, agents.Banner())
	}
	store := projectfiles.In(c.core.Dirs)
	prompts, problems := store.Prompts(root, tui.Reserved)
	if n := len(prompts); n > 0 {
		used = append(used, render.Count(n, "prompt"))
	}
	config, err := pluginConfigOf(projectRef{root: root, store: store}, c.core.Dirs)
	if err != nil {
		warn(err.Error())
	} else if len(config) > 0 {
		used = append(used, "config of "+strings.Join(slices.Sorted(maps.Keys(config)), ", "))
	}
	if len(problems) > 0 {
		warn(render.Count(len(problems), "prompt") + " of the project cannot be used: `patchbay project status` says why")
	}
	status := store.Look(root)
	if status.State == projectfiles.Trusted {
		used = append(used, render.Count(len(pluginhost.PluginsIn(status.Copy, nil)), "plugin"))
	}
	switch problem, fix := pluginhost.ProjectProblem(status); {
	case status.State == projectfiles.Declined:
		lines = append(lines, tui.BannerLine{Text: problem}) // the user decided: no warning
	case problem != "":
		warn(problem + "\n" + fix)
	}
	if len(used) > 0 {
		lines = append([]tui.BannerLine{{Text: "from the project: " + strings.Join(used, ", ")}}, lines...)
	}
	return lines
}
