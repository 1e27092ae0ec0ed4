package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newPluginInfoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "info NAME",
		SuggestFor: []string{"show"},
		Short:      "Show everything about one plugin",
		Long: `Show what a plugin declares, which points its hooks are connected to, what it
may do, and its state. A plugin of the mine dialect is asked for its health, for
at most five seconds. The command starts its own process of the plugin. If a
daemon is running, the daemon's process of the plugin is shown too, with its
calls, restarts and notifications. If plugins of two dialects have the same
name, write DIALECT:NAME.`,
		Example: `  patchbay plugin info git-context
  patchbay plugin info scaffold:git-context
  patchbay plugin info git-context --json | jq .wiring`,
		Annotations:       exits(exit{exitOK, "the plugin was shown"}, exit{exitNotFound, "no such plugin"}),
		Args:              arguments("NAME"),
		ValidArgsFunction: completeOnce(a.completePlugins),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.reportsPlugins = true
			return a.withPlugin(cmd.Context(), args[0], func(host *pluginhost.Host) error {
				return a.runPluginInfo(cmd.Context(), host, args[0])
			})
		},
	}
}

func (a *app) runPluginInfo(ctx context.Context, host *pluginhost.Host, name string) error {
	if err := host.CheckHealth(ctx, name); err != nil {
		return err
	}
	p, err := host.Plugin(name)
	if err != nil {
		return err
	}
	running, err := a.askDaemonAbout(ctx, name)
	if err != nil {
		a.logger().Warn("the daemon was not asked for its counters", "plugin", p.Name, "err", err)
	}
	if a.flags.json {
		return a.printJSON(pluginInfoJSON{p, running})
	}
	a.printPluginHead(p, running)
	if len(p.Wiring) == 0 { // it is not ready
		a.printSection("hooks", cellRows(p.Hooks))
	}
	a.printWiring("hooks", p.Wiring, false)
	a.printWiring("connected hooks", p.Wiring, true)
	a.printSection("tools", toolRows(host, p))
	a.printSection("commands", commandDocRows(p))
	a.printSection("methods", cellRows(p.Methods))
	a.printSection("kinds", cellRows(p.Kinds))
	a.printSection("knobs", knobRows(p.Knobs))
	a.printSection("config from", a.configRows(p))
	a.printSection("notifications", notificationRows(p.Notifications))
	if running != nil {
		a.printSection("notifications in the daemon", notificationRows(running.Notifications))
	}
	a.printSection("capabilities", a.capabilityRows(p.Capabilities))
	a.printSection("files it sees", mountRows(p.Mounts))
	a.printFindings(pluginFindings(host.Doctor(), p))
	return nil
}

// pluginInfoJSON is the result of plugin info in JSON.
type pluginInfoJSON struct {
	*pluginhost.PluginDetail
	Daemon *daemon.RunningPlugin `json:"daemon"` // null: no daemon is running, or it does not have the plugin
}

// askDaemonAbout returns the state of a plugin in the running daemon, or nil if there is none. The
// plugins that this command starts are other processes, with their own counters.
func (a *app) askDaemonAbout(ctx context.Context, name string) (*daemon.RunningPlugin, error) {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	running, err := daemon.AskPlugin(ctx, dirs, name)
	if errors.Is(err, daemon.ErrNoDaemon) {
		return nil, nil
	}
	return running, err
}

// daemonText returns the state of a plugin in the daemon.
func daemonText(r *daemon.RunningPlugin) string {
	process := "no process"
	if r.Pid != nil {
		process = fmt.Sprintf("process %d", *r.Pid)
	}
	return fmt.Sprintf("%s, %s, health %s; %s", process, render.Count(r.Counters.Restarts, "restart"), orDash(r.Health), callsText(r.Counters))
}

func callsText(c pluginhost.Counters) string {
	return render.Count(int(c.Calls), "call") + ", " + failuresText(c)
}

func (a *app) printPluginHead(p *pluginhost.PluginDetail, running *daemon.RunningPlugin) {
	o := a.screen()
	a.printf("%s %s  %s  %s\n", o.Paint(render.StyleBold, p.Name), o.Paint(render.StylePlain, p.Version),
		o.Paint(render.StyleDim, p.Dialect), o.Paint(stateStyle(p.State), string(p.State)))
	if p.Description != "" {
		a.printf("%s\n", render.Block(p.Description))
	}
	a.printf("\n")
	rows := a.authorRows(p)
	if p.Project != "" {
		rows = append(rows, a.labelled("project", a.place(p.Project)))
	}
	rows = append(rows, [][]render.Cell{
		a.labelled("path", a.place(p.Path)),
		a.labelled("process", processText(p)),
		a.labelled("health", p.Health),
		a.labelled("trust", trustText(p)),
		a.labelled("priority", strconv.Itoa(p.Priority)),
		a.labelled("calls", fmt.Sprintf("%d, %s (of this command alone)", p.Counters.Calls, failuresText(p.Counters))),
	}...)
	if running != nil {
		rows = append(rows, a.labelled("in the daemon", daemonText(running)))
	}
	_ = render.Table(a.out, rows, render.Options{Color: o.Color}) // a.out keeps the error
}

// authorRows returns the author, the license, the homepage and the protocol, as far as the plugin
// declares them.
func (a *app) authorRows(p *pluginhost.PluginDetail) [][]render.Cell {
	var rows [][]render.Cell
	for _, r := range [][2]string{{"author", p.Author}, {"license", p.License}, {"homepage", p.Homepage}, {"protocol", p.Protocol}} {
		if r[1] != "" {
			rows = append(rows, a.labelled(r[0], r[1]))
		}
	}
	return rows
}

func (a *app) labelled(label, text string) []render.Cell {
	return []render.Cell{{}, {Text: label, Style: render.StyleDim}, {Text: text}}
}

// trustText returns the state of a plugin in the lock, and its source.
func trustText(p *pluginhost.PluginDetail) string {
	parts := []string{orDash(string(p.Trust))}
	if r := p.Lock.Recorded; r != nil {
		parts = append(parts, "recorded "+r.Local().Format(time.DateOnly))
	}
	if p.Lock.Source != "" {
		parts = append(parts, "from "+p.Lock.Source)
	}
	if p.Lock.Ref != "" {
		parts = append(parts, "at "+p.Lock.Ref)
	}
	if p.Lock.Commit != "" {
		parts = append(parts, "commit "+excerpt.Head(p.Lock.Commit, 12))
	}
	return strings.Join(parts, ", ")
}

func processText(p *pluginhost.PluginDetail) string {
	if p.Pid == nil {
		return "none"
	}
	return fmt.Sprintf("%d, %s", *p.Pid, render.Count(p.Counters.Restarts, "restart"))
}

func failuresText(c pluginhost.Counters) string {
	parts := []string{render.Count(int(c.Errors), "error"), render.Count(int(c.Timeouts), "timeout")}
	if c.Notifications > 0 {
		parts = append(parts, render.Count(int(c.Notifications), "notification"))
	}
	if c.NotificationsDropped > 0 {
		parts = append(parts, render.Count(int(c.NotificationsDropped), "notification")+" dropped")
	}
	return strings.Join(parts, ", ")
}

// printWiring lists the hooks that the plugin declares, or those that the configuration connects.
func (a *app) printWiring(title string, wires []pluginhost.Wire, connected bool) {
	var rows [][]render.Cell
	for _, w := range wires {
		if w.Connected == connected {
			rows = append(rows, []render.Cell{{}, {Text: w.Hook}, {Text: "→ " + string(w.Point), Style: render.StyleCyan},
				{Text: w.For}, {Text: wireText(w), Style: render.StyleDim}})
		}
	}
	a.printSection(title, rows)
}

// wireText returns how a hook is called: "transform (chain), within 5s, priority 500".
func wireText(w pluginhost.Wire) string {
	parts := []string{string(w.Mode)}
	if w.OwnMode != "" && w.OwnMode != string(w.Mode) {
		parts[0] = w.OwnMode + " (" + parts[0] + ")"
	}
	if w.TimeoutMS > 0 {
		parts = append(parts, "within "+(time.Duration(w.TimeoutMS)*time.Millisecond).String())
	}
	return strings.Join(append(parts, fmt.Sprintf("priority %d", w.Priority)), ", ")
}

// commandDocRows lists the commands of a plugin, with their descriptions if it has any.
func commandDocRows(p *pluginhost.PluginDetail) [][]render.Cell {
	if len(p.CommandDocs) == 0 {
		return cellRows(p.Commands)
	}
	var rows [][]render.Cell
	for _, c := range p.CommandDocs {
		rows = append(rows, []render.Cell{{}, {Text: c.Name}, {Text: c.Args}, {Text: c.Description, Style: render.StyleDim}})
	}
	return rows
}

// printSection writes a table with a title, or nothing if there are no rows.
func (a *app) printSection(title string, rows [][]render.Cell) {
	if len(rows) == 0 {
		return
	}
	o := a.screen()
	a.printf("\n%s\n", o.Paint(render.StyleBold, title))
	_ = render.Table(a.out, rows, o) // a.out keeps the error
}

// toolRows lists the tools of a plugin. If the plugin is not ready, only their names are known.
func toolRows(host *pluginhost.Host, p *pluginhost.PluginDetail) [][]render.Cell {
	var rows [][]render.Cell
	for _, t := range host.Tools() {
		if t.Plugin == p.Name && t.Dialect == p.Dialect {
			rows = append(rows, []render.Cell{{}, {Text: t.Name}, {Text: signature(t.Parameters)}, {Text: t.Description, Style: render.StyleDim}})
		}
	}
	if len(rows) == 0 {
		return cellRows(p.Tools)
	}
	return rows
}

// shownNotifications limits the notifications that are shown as text; --json has all stored ones.
const shownNotifications = 5

func notificationRows(all []dialect.Notification) [][]render.Cell {
	var rows [][]render.Cell
	for _, n := range all[max(0, len(all)-shownNotifications):] {
		rows = append(rows, []render.Cell{{}, {Text: n.Time.Local().Format("15:04:05"), Style: render.StyleDim}, {Text: n.Method},
			{Text: excerpt.Of(string(n.Params), 60), Style: render.StyleDim}})
	}
	return rows
}

func cellRows(names []string) [][]render.Cell {
	var rows [][]render.Cell
	for _, n := range names {
		rows = append(rows, render.Cells("", n))
	}
	return rows
}

// configRows lists the files with a plugin's config, and the settings in each.
func (a *app) configRows(p *pluginhost.PluginDetail) [][]render.Cell {
	var rows [][]render.Cell
	for i, file := range p.ConfigFiles {
		rows = append(rows, []render.Cell{{}, {Text: a.place(file), Whole: true}, {Text: strings.Join(p.ConfigKeys[i], ", ")}})
	}
	return rows
}

// mountRows lists the files that a confined plugin sees. Parts of the system, which every plugin
// sees, are one row; --json lists them.
func mountRows(mounts []pluginhost.Mount) [][]render.Cell {
	var rows [][]render.Cell
	system := 0
	for _, m := range mounts {
		if m.System() {
			system++
			continue
		}
		rows = append(rows, []render.Cell{{}, {Text: m.Path}, {Text: m.Access}, {Text: m.Because, Style: render.StyleDim}})
	}
	if system > 0 {
		rows = append(rows, []render.Cell{{}, {Text: "the system"}, {Text: "execute"},
			{Text: render.Count(system, "place") + " with libraries, data and devices (--json lists them)", Style: render.StyleDim}})
	}
	return rows
}

func (a *app) capabilityRows(caps []pluginhost.Capability) [][]render.Cell {
	var rows [][]render.Cell
	for _, c := range caps {
		style := render.StyleGreen
		if c.Status != "enforced" {
			style = render.StyleYellow
		}
		rows = append(rows, []render.Cell{{}, {Text: c.Capability},
			{Text: strings.ReplaceAll(c.Status, "_", " "), Style: style}, {Text: c.Reason, Style: render.StyleDim}})
	}
	return rows
}

// pluginFindings returns the findings about one plugin.
func pluginFindings(all []pluginhost.Finding, p *pluginhost.PluginDetail) []pluginhost.Finding {
	var out []pluginhost.Finding
	for _, f := range all {
		shown := f.Severity == pluginhost.SeverityInfo && p.State == "ready" // shown among the capabilities
		if f.Plugin == p.Name && f.Dialect == p.Dialect && !shown {
			out = append(out, f)
		}
	}
	return out
}
