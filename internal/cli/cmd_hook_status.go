package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/hookclient"
	"github.com/patchbay-dev/patchbay/internal/hookinstall"
	"github.com/patchbay-dev/patchbay/internal/project"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newHookStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show which agents ask your plugins, and whether that works",
		Long: `List the agents that have hooks of Patchbay in a configuration file, yours or
the current project's. Each hook is tried: its command is started as the agent
would start it. It gets a sample event: a tool call that prints one word. A hook
works if plugins were asked, and the agent understands its answer. Codex is
asked which hooks it would run. Settings that turn an agent's hooks off are
reported too.`,
		Example:     "  patchbay hook status\n  patchbay hook status --json",
		Annotations: exits(exit{exitOK, "every installed hook works, or none is installed"}, exit{exitFailed, "an installed hook does not work"}),
		Args:        arguments(),
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.runHookStatus(cmd.Context()) },
	}
}

// hookState is the state of one installation.
type hookState struct {
	in     hookinstall.Installed
	proof  hookinstall.Proof
	faults []hookinstall.Fault
}

// hookStates inspects every file that may contain Patchbay, and tries the hooks in it.
func (a *app) hookStates(ctx context.Context) (states []hookState, faults []hookinstall.Fault, err error) {
	dir, err := filepath.Abs(a.dir())
	if err != nil {
		return nil, nil, err
	}
	prober := hookinstall.Prober{Environ: a.Environ, Dir: dir, Logger: a.logger()}
	home, err := a.home()
	if err != nil {
		return nil, nil, err
	}
	all, errs := hookinstall.All(home, project.Root(dir), a.getenv)
	for _, err := range errs {
		faults = append(faults, hookinstall.Fault{Problem: err.Error(), Fix: hookinstall.UnreadFix})
	}
	for _, in := range all {
		s := hookState{in: in, faults: in.Faults}
		tried, proof := a.tryHook(ctx, prober, in)
		s.proof, s.faults = proof, append(s.faults, tried...)
		states = append(states, s)
	}
	return states, append(faults, hookinstall.Doubles(all)...), ctx.Err()
}

// tryHook starts the installed command as the agent would, and checks that plugins were asked. If
// the agent is Codex, it also asks Codex whether the hooks are approved.
func (a *app) tryHook(ctx context.Context, prober hookinstall.Prober, in hookinstall.Installed) (faults []hookinstall.Fault, proof hookinstall.Proof) {
	if len(in.Faults) == 0 {
		began := time.Now()
		proof = prober.Probe(ctx, in)
		if proof.Fault == nil {
			proof.Fault = a.unaskedProbe(in.Place.Agent, began)
		}
		if proof.Fault != nil {
			faults = append(faults, *proof.Fault)
		}
	}
	if in.Place.Agent == codehook.Codex {
		faults = append(faults, unapproved(ctx, prober, in)...)
	}
	return faults, proof
}

// unaskedProbe reports whether the answer to a probe since began was made without plugins. Such an
// answer is valid for the agent too; only the log of these events tells them apart.
func (a *app) unaskedProbe(agent codehook.Agent, began time.Time) *hookinstall.Fault {
	entries, err := a.unasked()
	if err != nil {
		return &hookinstall.Fault{Problem: fmt.Sprintf("cannot know whether plugins were asked: %v", err), Fix: "move that file away"}
	}
	for _, e := range entries {
		if e.Agent == agent && e.Session == codehook.ProbeSession && !e.Time.Before(began) {
			return &hookinstall.Fault{Problem: "it answers, but no plugin can be asked: " + cause(e),
				Fix: "correct that; `patchbay doctor` lists what is wrong with the configuration and the plugins"}
		}
	}
	return nil
}

// unapproved asks Codex which of our hooks are not approved.
func unapproved(ctx context.Context, prober hookinstall.Prober, in hookinstall.Installed) []hookinstall.Fault {
	hooks, err := prober.AskCodex(ctx)
	if err != nil {
		return []hookinstall.Fault{{Problem: fmt.Sprintf("cannot ask Codex whether the hooks are approved: %v", err),
			Fix: "put codex on your PATH, or look at /hooks in Codex"}}
	}
	var missing []string
	for _, h := range hooks {
		if strings.HasPrefix(h.Key, in.Place.Path()+":") && h.Trust != "trusted" {
			missing = append(missing, h.Event)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []hookinstall.Fault{{Problem: "Codex does not run the hooks of " + strings.Join(missing, ", ") + ": they are not approved",
		Fix: "type /hooks in Codex, or `patchbay hook install codex --trust`"}}
}

func (a *app) runHookStatus(ctx context.Context) error {
	states, faults, err := a.hookStates(ctx)
	if err != nil {
		return err
	}
	unasked, err := a.unasked()
	if err != nil {
		return err
	}
	bad := len(faults)
	for _, s := range states {
		bad += len(s.faults)
	}
	if a.flags.json {
		err = a.printJSON(map[string]any{"ok": bad == 0, "hosts": hostsJSON(states), "problems": faultsJSON(faults), "unasked": unasked})
	} else {
		err = a.printHookStates(states, faults)
		a.printUnasked(unasked)
	}
	if err != nil || bad == 0 {
		return err
	}
	return alreadyPrinted(kindFailed, "each problem says how to fix it", "%s found", render.Count(bad, "problem"))
}

// mostUnasked limits how many of the events without an answer are shown.
const mostUnasked = 10

// unasked returns the last events that no plugin could be asked about.
func (a *app) unasked() ([]hookclient.Entry, error) {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	all, err := hookclient.ReadLog(dirs.State)
	return append([]hookclient.Entry{}, all[max(0, len(all)-mostUnasked):]...), err
}

func (a *app) printUnasked(entries []hookclient.Entry) {
	if len(entries) == 0 {
		return
	}
	a.sayf("\nThe last events that no plugin could be asked about:\n")
	for _, e := range entries {
		became := "the agent went on"
		if e.What == hookclient.Denied {
			became = "denied"
		}
		a.sayf("  %s %s %s: %s: %s\n", e.Time.Local().Format(time.DateTime), e.Agent, e.Event, became, cause(e))
	}
}

// cause returns why no plugin could be asked, in one line.
func cause(e hookclient.Entry) string {
	var parts []string
	for line := range strings.Lines(e.Why) {
		parts = append(parts, strings.TrimSpace(line))
	}
	return render.Line(strings.Join(parts, "; "))
}

func hostsJSON(states []hookState) []map[string]any {
	out := []map[string]any{}
	for _, s := range states {
		var events []string
		for _, e := range s.in.Entries {
			events = append(events, e.Event)
		}
		out = append(out, map[string]any{"host": s.in.Place.Agent, "project": s.in.Place.Project, "file": s.in.Place.Path(),
			"command": s.in.Entries[0].Started, "events": events, "fires": s.proof.Event != "" && s.proof.Fault == nil,
			"took_ms": s.proof.Took.Milliseconds(), "problems": faultsJSON(s.faults)})
	}
	return out
}

func faultsJSON(faults []hookinstall.Fault) []map[string]string {
	out := []map[string]string{}
	for _, f := range faults {
		out = append(out, map[string]string{"problem": f.Problem, "fix": f.Fix})
	}
	return out
}

func (a *app) printHookStates(states []hookState, faults []hookinstall.Fault) error {
	o := a.screen()
	if len(states) == 0 {
		a.sayf("No agent asks your plugins yet: `patchbay hook install AGENT`, for one of %s.\n", strings.Join(agentNames(), ", "))
	}
	for _, s := range states {
		verdict := o.Paint(render.StyleGreen, "fires") + fmt.Sprintf(", answered in %s", s.proof.Took.Round(time.Millisecond))
		if len(s.faults) > 0 {
			verdict = o.Paint(render.StyleRed, "does not work")
		}
		scope := ""
		if s.in.Place.Project {
			scope = " (project)"
		}
		a.printf("%s%s  %s\n  %s, %s\n", o.Paint(render.StyleBold, string(s.in.Place.Agent)), scope, verdict, a.place(s.in.Place.Path()),
			render.Count(len(s.in.Entries), "event"))
		a.printFaults(s.faults)
	}
	if len(faults) > 0 {
		a.sayf("\nOther problems:\n")
	}
	a.printFaults(faults)
	return nil
}

func (a *app) printFaults(faults []hookinstall.Fault) {
	o := a.screen()
	for _, f := range faults {
		a.printf("%s\n", problemText(o, f.Problem))
		if f.Fix != "" {
			a.printf("%s\n", fixText(o, f.Fix))
		}
	}
}
