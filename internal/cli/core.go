package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// modelFlags holds the flags that choose the model.
type modelFlags struct {
	model  string
	script string

	noAgents bool // leave out AGENTS.md; only chat has a flag for it
}

func (m *modelFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.model, "model", "", "use the model `PROVIDER:NAME`; PROVIDER is anthropic, openai or offline")
	f.StringVar(&m.script, "script", "", "let the offline model answer with the replies in this `FILE`")
	mustComplete(cmd, "model", model.Known()...)
}

// modelHint returns how to choose a model, if none is configured and the environment has the key of
// a provider.
func modelHint(core *daemon.Core) string {
	variable, name := core.Suggest()
	if variable == "" || core.ChosenModel() {
		return ""
	}
	return fmt.Sprintf("%s is set, but no model is chosen, so the offline model answers, which only echoes. To choose a model: --model %s, "+
		"/model %s in the chat, or [model] in config.toml (`patchbay config init` writes the file)", variable, name, name)
}

// withCore opens everything that the agent needs, calls use, and closes it again.
func (a *app) withCore(ctx context.Context, m modelFlags, use func(*daemon.Core) error) error {
	if m.model != "" {
		provider, _, err := model.ParseName(m.model)
		if err != nil {
			return usage("", "--model: %w", err)
		}
		if m.script != "" && provider != model.ProviderOffline {
			return usage("leave one of them out", "--script is for the offline model; it cannot be used with --model %s", m.model)
		}
	}
	return a.withCoreOf(ctx, daemon.Options{Host: *a.options(nil), Model: m.model, Script: a.path(m.script), NoAgentsMD: m.noAgents}, use)
}

// withCoreOf is withCore with other options, for commands without a model or without all plugins.
func (a *app) withCoreOf(ctx context.Context, o daemon.Options, use func(*daemon.Core) error) error {
	if err := a.checkPlaces(); err != nil {
		return err
	}
	core, err := daemon.Open(ctx, o)
	a.starting.stop()
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := core.Close(); closeErr != nil { // the result of the command is not affected
			a.logger().Warn("not everything stopped cleanly", "err", closeErr)
		}
	}()
	return use(core)
}
