package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/hookclient"
)

func newHookCommand(a *app) *cobra.Command {
	var event string
	var standIn bool
	cmd := &cobra.Command{
		Use:     "hook AGENT",
		Short:   "Make other coding agents ask your plugins",
		GroupID: groupAgent,
		Long: `Ask your plugins about an event of another coding agent. The agent starts this
command at each event, writes the event to its stdin, and obeys its output and
its exit code. AGENT is one of
` + strings.Join(agentNames(), ", ") + `.

The plugins run in the daemon. If no daemon runs, this command starts one, which
ends half an hour after its last event. If no daemon can be started, or with
--config or --dialect, this command starts the plugins itself.

If a plugin cannot be asked in time, the event is denied, with an answer that
names the plugin, or the agent goes on without the plugin. Which of the two
happens depends on the plugin's protocol, on the point, and on on_failure in the
configuration: see docs/when-a-plugin-cannot-be-asked.md.

` + "`patchbay-hook`" + ` is a smaller program that does the same.

PATCHBAY_HOOK=off in the agent's environment switches the hook off.

For OpenCode, the command reads and writes one line of JSON for each event,
until stdin ends.`,
		Example: `  patchbay hook claude --event PreToolUse < event.json
  PATCHBAY_HOOK=off claude`,
		Annotations: exits(exit{exitOK, "the event was answered in the agent's format"}, exit{exitUsage, "the event was denied (only for agents that read this exit code), or a usage error"}, exit{exitConfig, "the file of --config cannot be read, or has an error"}),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !codehook.Agent(args[0]).Known() {
				if args[0] == "uninstall" {
					return unknownCommand(cmd, args[0], nil)
				}
				return usage(suggestName(args[0], agentNames(), "AGENT is one of "+strings.Join(agentNames(), ", ")+"; `patchbay hook --help` lists the commands"),
					"unknown agent or command %q for %q", args[0], cmd.CommandPath())
			}
			return arguments("AGENT")(cmd, args)
		},
		ValidArgs: agentNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent := codehook.Agent(args[0])
			if standIn {
				return a.standIn(cmd.Context(), agent)
			}
			return a.runHook(cmd.Context(), agent, event)
		},
	}
	cmd.Flags().StringVar(&event, "event", "", "the agent's `NAME` for the event, if stdin does not contain it")
	cmd.Flags().BoolVar(&standIn, strings.TrimPrefix(hookclient.StandInFlag, "--"), false, "read a request, and write the answer")
	_ = cmd.Flags().MarkHidden(strings.TrimPrefix(hookclient.StandInFlag, "--")) // the flag was added a line above
	cmd.AddCommand(newHookDaemonCommand(a), newHookInstallCommand(a), newHookStatusCommand(a))
	return cmd
}

func agentNames() []string {
	var names []string
	for _, agent := range codehook.Agents() {
		names = append(names, string(agent))
	}
	return names
}

// runHook does what patchbay-hook does, but opens the plugins itself if no daemon answers.
func (a *app) runHook(ctx context.Context, agent codehook.Agent, event string) error {
	dir := a.dir()
	if dir == "" {
		dir, _ = os.Getwd() // events are answered even if the agent's directory is gone
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o := hookclient.Options{Agent: agent, Event: event, In: a.In, Out: a.out.w, Err: a.Err, Environ: a.Environ, Dir: dir, Program: self,
		InProcess: func(ctx context.Context, r hookclient.Request) (*hookclient.Answer, error) {
			return a.answerHook(ctx, agent, r)
		}}
	if a.flags.config != "" { // a mistake here must not pass as an answer without an opinion
		dirs, err := a.dirs()
		if err != nil {
			return err
		}
		if _, err := config.Load(dirs.ConfigFile); err != nil {
			return err
		}
	}
	if a.flags.config != "" || len(a.flags.dialects) > 0 {
		o.NoDaemon = errors.New("--config and --dialect are for this process alone")
	}
	if agent == codehook.OpenCode {
		return hookclient.Lines(ctx, o)
	}
	if code := hookclient.Run(ctx, o); code != 0 {
		return &programExit{code: code}
	}
	return nil
}

// standIn answers a request of patchbay-hook, which cannot open plugins.
func (a *app) standIn(ctx context.Context, agent codehook.Agent) error {
	text, err := io.ReadAll(io.LimitReader(a.In, hookclient.MaxAnswer))
	if err != nil {
		return err
	}
	var r hookclient.Request
	if err := json.Unmarshal(text, &r); err != nil {
		return usage("only patchbay-hook uses this flag", "%s: %w", hookclient.StandInFlag, err)
	}
	answer, err := a.answerHook(ctx, agent, r)
	if err != nil {
		return err
	}
	return json.NewEncoder(a.out).Encode(answer)
}

// answerHook opens the plugins of the event's project, asks them, and closes them again.
func (a *app) answerHook(ctx context.Context, agent codehook.Agent, r hookclient.Request) (answer *hookclient.Answer, err error) {
	o := daemon.Options{Host: *a.options(nil), NoModel: true}
	if m, err := r.Moment(agent); err == nil && o.Host.Dir == "" {
		o.Host.Dir = hookDir(m.Dir, r.Dir)
	}
	err = a.withCoreOf(ctx, o, func(core *daemon.Core) error {
		core.WriteClosed()
		answer, err = core.AnswerHook(ctx, agent, r)
		return err
	})
	return answer, err
}

// hookDir returns the first of these directories that exists, or else the directory for temporary
// files.
func hookDir(dirs ...string) string {
	i := slices.IndexFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return err == nil && info.IsDir()
	})
	if i < 0 {
		return os.TempDir()
	}
	return dirs[i]
}

// newHookDaemonCommand returns the command that hooks start.
func newHookDaemonCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "daemon",
		Short:  "Run the daemon that hooks start",
		Hidden: true,
		Long: `Keep the plugins running for the hooks of other agents, on the socket only: no
port, no schedules. The daemon ends after half an hour without an event, or when
` + "`patchbay serve`" + ` or a daemon of another version takes its place.

When it is ready it prints one line of JSON.`,
		Annotations: exits(exit{exitOK, "the daemon was told to end, or had no events"}, exit{exitFailed, "the daemon could not listen"},
			exit{exitConfig, "the configuration has an error"}),
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runHookDaemon(cmd.Context()) },
	}
}

func (a *app) runHookDaemon(ctx context.Context) error {
	a.log = longLog(nil)
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return err
	}
	// Another daemon may have started since the hook looked. If that daemon hangs, this one does
	// not wait for it: claiming the socket fails then.
	if there, err := daemon.Serves(ctx, dirs); err == nil && there {
		return a.hooksReady(daemon.Addresses{})
	}
	hangups, ctx, stop := a.hangups(ctx)
	defer stop()
	err = a.withCoreOf(ctx, daemon.Options{Host: *a.options(nil), NoModel: true}, func(core *daemon.Core) error {
		go reloadWhenAsked(ctx, hangups, core)
		return core.ServeHooks(ctx, daemon.HookOptions{Ready: func(at daemon.Addresses) {
			if err := a.hooksReady(at); err != nil {
				a.logger().Info("the process that started this daemon is gone", "err", err)
			}
		}})
	})
	if errors.Is(err, daemon.ErrRunning) {
		return a.hooksReady(daemon.Addresses{})
	}
	return err
}

// hooksReady tells the process that started the daemon that a daemon answers.
func (a *app) hooksReady(at daemon.Addresses) error {
	return json.NewEncoder(a.Out).Encode(map[string]string{"socket": at.Socket})
}
