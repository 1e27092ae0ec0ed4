package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// A whole is a plugin with a handler at every point, and what its handlers saw.
type whole struct {
	plugin *plugin.Plugin
	seen   []string
}

type wholeConfig struct {
	Limit int    `json:"limit" doc:"How many." min:"1" max:"9" knob:"Limit"`
	Mode  string `json:"mode" enum:"fast,slow"`
}

type wholeSecrets struct {
	Token string `json:"token" env:"WHOLE_TOKEN"`
}

type countIn struct {
	Text  string `json:"text" doc:"The text."`
	Times int    `json:"times,omitempty"`
}

type countOut struct {
	Words   int            `json:"words"`
	Total   int            `json:"total"`
	Limit   int            `json:"limit"`
	Dialect plugin.Dialect `json:"dialect"`
}

type failIn struct {
	How string `json:"how"`
}

func newWhole() *whole {
	p := plugin.New("whole", "1.2.3", "Has everything.")
	p.Author, p.Priority, p.Compactor = "A", 7, true
	w := &whole{plugin: p}
	config := plugin.Config(p, wholeConfig{Limit: 3, Mode: "fast"})
	secrets := plugin.Secrets(p, wholeSecrets{})
	w.offer(config, secrets)
	w.agent()
	w.session()
	w.commands()
	w.jobs(config)
	p.Health(func(context.Context) error {
		if config.Mode == "slow" {
			return errors.New("slow")
		}
		return nil
	})
	return w
}

// offer adds tools and methods.
func (w *whole) offer(config *wholeConfig, secrets *wholeSecrets) {
	p, state, counted := w.plugin, w.plugin.State(), w.plugin.Notification("whole.counted")
	plugin.Tool(p, "count", "Counts words.", func(ctx context.Context, in countIn) (countOut, error) {
		total := 0
		if _, err := state.Get(ctx, "total", &total); err != nil {
			return countOut{}, err
		}
		words := len(strings.Fields(in.Text)) * max(in.Times, 1)
		total += words
		if err := state.Put(ctx, "total", total); err != nil {
			return countOut{}, err
		}
		return countOut{words, total, config.Limit, plugin.From(ctx).Dialect}, counted(ctx, map[string]int{"total": total})
	})
	plugin.Tool(p, "fail", "Fails.", func(_ context.Context, in failIn) (string, error) {
		if in.How == "plainly" {
			return "", errors.New("it is stuck")
		}
		panic(in.How)
	})
	plugin.Method(p, "whole.who", "Who asks.", func(ctx context.Context, _ struct{}) (map[string]string, error) {
		return map[string]string{"session": plugin.From(ctx).SessionID, "token": secrets.Token}, nil
	})
}

// agent adds handlers of an agent's points.
func (w *whole) agent() {
	p := w.plugin
	plugin.On(p, plugin.ToolBefore, func(_ context.Context, e *plugin.ToolEvent) plugin.Verdict {
		switch e.Argument("do") {
		case "deny":
			return plugin.Deny("no").Suggest("ask")
		case "answer":
			return plugin.Answer(map[string]int{"a": 1})
		case "modify":
			if err := e.Encode(map[string]any{"done": true}); err != nil {
				return plugin.Fail(err)
			}
			return plugin.Modify()
		case "skip":
			return plugin.Skip()
		case "panic":
			panic("broken")
		}
		return plugin.NoOpinion()
	})
	plugin.On(p, plugin.ToolResolve, func(context.Context, *plugin.ToolEvent) plugin.Verdict { return plugin.Answer("sunny") }, plugin.Only("weather"))
	plugin.On(p, plugin.ToolAfter, func(_ context.Context, e *plugin.ToolEvent) plugin.Verdict {
		e.Result += fmt.Sprint("/", e.Success)
		return plugin.Modify()
	})
	plugin.On(p, plugin.TurnInput, func(_ context.Context, e *plugin.InputEvent) plugin.Verdict {
		switch e.Message {
		case "drop":
			return plugin.Skip()
		case "deny":
			return plugin.Deny("rude")
		case "stop":
			return plugin.Stop()
		}
		e.Message = strings.ToUpper(e.Message)
		return plugin.Modify()
	})
	plugin.On(p, plugin.PromptContext, func(_ context.Context, e *plugin.ContextEvent) plugin.Verdict {
		e.Add("more")
		return plugin.Modify()
	})
	plugin.On(p, plugin.PromptSend, func(_ context.Context, e *plugin.PromptEvent) plugin.Verdict {
		e.BasePrompt, e.DynamicContext = e.BasePrompt+"1", e.DynamicContext+"2"
		return plugin.Modify()
	})
	plugin.On(p, plugin.ModelReply, func(_ context.Context, e *plugin.ReplyEvent) plugin.Verdict {
		e.Text += fmt.Sprint("+", len(e.ToolCalls))
		return plugin.Modify()
	})
	plugin.On(p, plugin.TurnFinal, func(_ context.Context, e *plugin.FinalEvent) plugin.Verdict {
		e.Text += "."
		return plugin.Modify()
	})
}

// session adds handlers of a session's points.
func (w *whole) session() {
	p := w.plugin
	plugin.On(p, plugin.SessionStart, func(ctx context.Context, e *plugin.SessionEvent) plugin.Verdict {
		e.Inject = "hello " + plugin.From(ctx).ProjectID
		return plugin.Modify()
	})
	plugin.On(p, plugin.SessionIdle, func(_ context.Context, e *plugin.IdleEvent) plugin.Verdict {
		w.seen = append(w.seen, e.Transcript[0].Content)
		return plugin.NoOpinion()
	})
	plugin.On(p, plugin.CompactBefore, func(_ context.Context, e *plugin.CompactEvent) plugin.Verdict {
		e.Summary = fmt.Sprint(len(e.Messages), " messages")
		return plugin.Modify()
	})
	plugin.On(p, plugin.CompactAfter, func(_ context.Context, e *plugin.CompactedEvent) plugin.Verdict {
		e.Retain = e.Compacted[:1]
		return plugin.Modify()
	})
}

// commands adds handlers of commands, and a command.
func (w *whole) commands() {
	p := w.plugin
	plugin.On(p, plugin.CommandBefore, func(_ context.Context, e *plugin.CommandEvent) plugin.Verdict {
		p.Log().Info("asked", "command", e.Command)
		switch {
		case len(e.Args) > 0 && e.Args[0] == "--force":
			return plugin.Deny("no force").Suggest("pull first")
		case len(e.Args) > 0 && e.Args[0] == "--panic":
			panic("no disk")
		}
		e.Flags["tags"] = "x"
		return plugin.Modify()
	}, plugin.Only("git"), plugin.Within(2e9))
	plugin.On(p, plugin.CommandAfter, func(_ context.Context, e *plugin.CommandEvent) plugin.Verdict {
		e.SetOutput(strings.TrimSpace(e.Output()) + "!")
		return plugin.Modify()
	})
	plugin.On(p, plugin.CommandDone, func(_ context.Context, e *plugin.CommandEvent) plugin.Verdict {
		w.seen = append(w.seen, e.Command)
		return plugin.NoOpinion()
	})
	p.Command("greet", "Greets.", func(_ context.Context, c *plugin.CommandCall) error {
		rest, err := io.ReadAll(c.Stdin)
		if err == nil {
			_, err = fmt.Fprintf(c.Stdout, "hello %s%s\n", strings.Join(c.Args, " "), rest)
		}
		if len(c.Args) > 0 && c.Args[0] == "none" {
			return &plugin.Error{Message: "no one is there", Code: "NONE"}
		}
		return err
	}, plugin.ArgsHelp("[NAME]"), plugin.UserStdin())
}

// jobs adds handlers of scheduled agents.
func (w *whole) jobs(config *wholeConfig) {
	p := w.plugin
	plugin.On(p, plugin.JobPreflight, func(_ context.Context, e *plugin.JobEvent) plugin.Verdict {
		if e.Agent == "late" {
			return plugin.Deny("not now").Suggest("later")
		}
		return plugin.Continue()
	})
	plugin.On(p, plugin.JobSink, func(_ context.Context, e *plugin.JobEvent) plugin.Verdict {
		w.seen = append(w.seen, fmt.Sprint(e.Message, "/", config.Limit))
		return plugin.Fail(nil)
	})
	plugin.On(p, plugin.JobNotify, func(context.Context, *plugin.JobEvent) plugin.Verdict { return plugin.Fail(errors.New("no network")) })
}
