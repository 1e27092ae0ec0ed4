// Command veil hides everything that looks like a password, a token or a private key: in the
// results of tools before a model reads them, and in the output of commands and scheduled agents.
// It is one program for every protocol; README.md says how to install it for each.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

func main() { newVeil().Main() }

// settings are the plugin's config.
type settings struct {
	Mask string `json:"mask" doc:"The text that replaces a secret." knob:"Mask" max:"40"`
	File string `json:"file,omitempty" doc:"The file to which a sink appends the output of agents, without secrets."`
	Deny bool   `json:"deny,omitempty" doc:"Refuse tools whose arguments have secrets in them." knob:"Refuse tools"`
}

// A veil has the plugin's functions and their shared values.
type veil struct {
	plugin *plugin.Plugin
	config *settings
	state  *plugin.State
	hidden func(ctx context.Context, params any) error
}

func newVeil() *plugin.Plugin {
	p := plugin.New("veil", "1.0.0", "Hides passwords, tokens and private keys.")
	p.Author, p.License = "Patchbay", "Apache-2.0"
	p.Priority = 900 // after plugins that add text
	v := &veil{plugin: p, config: plugin.Config(p, settings{Mask: "[hidden]"}), state: p.State(), hidden: p.Notification("veil.hidden")}
	plugin.On(p, plugin.ToolBefore, v.guard)
	plugin.On(p, plugin.ToolAfter, v.result)
	plugin.On(p, plugin.CommandAfter, v.output)
	plugin.On(p, plugin.JobSink, v.sink)
	plugin.Tool(p, "redact", "Returns a text without the secrets in it, and how many there were.", v.redact)
	plugin.Method(p, "veil.total", "How many secrets were hidden so far.", v.total)
	p.Command("scan", "Says which lines of files, or of stdin, have secrets in them.", v.scan, plugin.ArgsHelp("[FILE…]"), plugin.UserStdin())
	return p
}

// guard refuses tools with secrets in their arguments, if the config says so.
func (v *veil) guard(_ context.Context, e *plugin.ToolEvent) plugin.Verdict {
	if _, n := hide(string(e.Arguments), v.config.Mask); n > 0 && v.config.Deny {
		return plugin.Denyf("the arguments of %s have secrets in them: %d", e.Tool, n).Suggest("name the file or the variable that has the secret")
	}
	return plugin.NoOpinion()
}

func (v *veil) result(_ context.Context, e *plugin.ToolEvent) plugin.Verdict {
	text, n := hide(e.Result, v.config.Mask)
	if n == 0 {
		return plugin.NoOpinion()
	}
	e.Result = text
	return plugin.Modify()
}

func (v *veil) output(_ context.Context, e *plugin.CommandEvent) plugin.Verdict {
	text, n := hide(e.Output(), v.config.Mask)
	if n == 0 {
		return plugin.NoOpinion()
	}
	e.SetOutput(text)
	return plugin.Modify()
}

// sink appends the output of an agent to a file.
func (v *veil) sink(_ context.Context, e *plugin.JobEvent) plugin.Verdict {
	if v.config.File == "" {
		return plugin.Deny("there is no file to write to").Suggest(`set config = { file = "…" } where the manifest names veil`)
	}
	text, n := hide(e.Message, v.config.Mask)
	if n > 0 {
		v.plugin.Log().Info("secrets hidden", "agent", e.Agent, "count", n)
	}
	return plugin.Fail(appendTo(v.config.File, fmt.Sprintf("%s/%s: %s\n", e.Agent, e.Schedule, strings.TrimSuffix(text, "\n"))))
}

func appendTo(path, text string) error {
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		path = filepath.Join(home, below)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

type redactIn struct {
	Text string `json:"text" doc:"The text."`
}

type redactOut struct {
	Text    string `json:"text"`
	Secrets int    `json:"secrets"`
}

func (v *veil) redact(ctx context.Context, in redactIn) (redactOut, error) {
	text, n := hide(in.Text, v.config.Mask)
	if n == 0 {
		return redactOut{Text: text}, nil
	}
	sum, err := v.count(ctx)
	if err == nil {
		err = v.state.Put(ctx, "total", sum+n)
	}
	if err == nil {
		err = v.hidden(ctx, map[string]int{"secrets": n, "total": sum + n})
	}
	return redactOut{Text: text, Secrets: n}, err
}

func (v *veil) count(ctx context.Context) (n int, err error) {
	_, err = v.state.Get(ctx, "total", &n)
	return n, err
}

func (v *veil) total(ctx context.Context, _ struct{}) (map[string]int, error) {
	n, err := v.count(ctx)
	return map[string]int{"total": n}, err
}
