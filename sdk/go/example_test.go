package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// speak plays a host: it runs a plugin with some lines on stdin, and prints the answers.
func speak(p *plugin.Plugin, lines ...string) {
	p.Run(context.Background(), plugin.Process{Stdin: strings.NewReader(strings.Join(lines, "\n") + "\n"), Stdout: os.Stdout, Stderr: os.Stderr})
}

// A tool is a function of a struct. The comments show what a host of scaffold reads.
func ExampleTool() {
	p := plugin.New("words", "1.0.0", "Counts words.")
	type args struct {
		Text string `json:"text" doc:"What to count."`
	}
	plugin.Tool(p, "count", "Counts the words of a text.", func(ctx context.Context, in args) (int, error) {
		if in.Text == "" {
			return 0, errors.New("there is no text")
		}
		return len(strings.Fields(in.Text)), nil
	})
	speak(p,
		`{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}`,
		`{"jsonrpc":"2.0","method":"tool/execute","params":{"name":"count","arguments":{"text":"to be or not to be"}},"id":2}`,
		`{"jsonrpc":"2.0","method":"tool/execute","params":{"name":"count","arguments":{}},"id":3}`)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"name":"words","version":"1.0.0","description":"Counts words.","hooks":[],"tools":[{"name":"count","description":"Counts the words of a text.","parameters":[{"name":"text","type":"string","description":"What to count.","required":true}]}],"priority":500}}
	// {"jsonrpc":"2.0","id":2,"result":{"success":true,"result":"6"}}
	// {"jsonrpc":"2.0","id":3,"result":{"success":false,"result":"text: is required"}}
}

// A handler observes an event, changes it, or refuses it: here a command that the user has typed
// (mine).
func ExampleOn() {
	p := plugin.New("lease", "1.0.0", "Makes forced pushes careful.")
	plugin.On(p, plugin.CommandBefore, func(ctx context.Context, e *plugin.CommandEvent) plugin.Verdict {
		for i, arg := range e.Args {
			if arg == "--force" {
				e.Args[i] = "--force-with-lease"
				return plugin.Modify()
			}
		}
		return plugin.NoOpinion()
	}, plugin.Only("git"))
	speak(p, `{"protocol_version":"1.0.0","type":"hook","stage":"preexec","mode":"transform","context":{"command":"git","args":["push","--force"],"flags":{},"result":null,"timestamp":"2026-01-15T10:30:00Z"}}`)
	// Output:
	// {"status":"ok","context":{"command":"git","args":["push","--force-with-lease"],"flags":{},"result":null,"timestamp":"2026-01-15T10:30:00Z"}}
}

// A refusal has a reason, and a suggestion for the user.
func ExampleDeny() {
	p := plugin.New("night", "1.0.0", "Lets agents sleep.")
	plugin.On(p, plugin.JobPreflight, func(ctx context.Context, e *plugin.JobEvent) plugin.Verdict {
		return plugin.Denyf("%s must not run at night", e.Agent).Suggest("try again at seven")
	})
	p.Run(context.Background(), plugin.Process{Args: []string{"invoke"}, Stdout: os.Stdout, Stderr: os.Stderr,
		Stdin: strings.NewReader(`{"kind":"preflight","agent":"report","schedule":"daily","event":"preflight","message":null,"config":{}}`)})
	// Output:
	// {"ok":false,"error":"report must not run at night","suggest":"try again at seven"}
}

// The config is a struct with its defaults. A field that people may adjust has a knob.
func ExampleConfig() {
	type settings struct {
		Shown int `json:"shown" doc:"How many." min:"0" max:"20" knob:"Notes shown"`
	}
	p := plugin.New("notes", "1.0.0", "Keeps notes.")
	config := plugin.Config(p, settings{Shown: 3})
	plugin.On(p, plugin.SessionStart, func(ctx context.Context, e *plugin.SessionEvent) plugin.Verdict {
		e.Inject = fmt.Sprintf("The last %d notes.", config.Shown)
		return plugin.Modify()
	})
	speak(p,
		`{"jsonrpc":"2.0","method":"initialize","params":{"api_version":1,"plugin_name":"notes","config":{"shown":50}},"id":1}`,
		`{"jsonrpc":"2.0","method":"initialize","params":{"api_version":1,"plugin_name":"notes","config":{"shown":5}},"id":2}`,
		`{"jsonrpc":"2.0","method":"kaged.hook.on_session_start","params":{"session_id":"s1"},"id":3}`)
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"config: shown: must be at most 20"}}
	// {"jsonrpc":"2.0","id":2,"result":{"name":"notes","version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}}
	// {"jsonrpc":"2.0","id":3,"result":{"inject":"The last 5 notes."}}
}

// Manifests are printed from the code: `lease manifest mine >mine-plugin.toml`.
func ExamplePlugin_Manifest() {
	p := plugin.New("lease", "1.0.0", "Makes forced pushes careful.")
	p.Author = "Ann"
	plugin.On(p, plugin.CommandBefore, func(context.Context, *plugin.CommandEvent) plugin.Verdict { return plugin.NoOpinion() }, plugin.Only("git"))
	text, err := p.Manifest(plugin.Mine, "lease")
	fmt.Print(string(text), err)
	// Output:
	// [plugin]
	// name = "lease"
	// version = "1.0.0"
	// description = "Makes forced pushes careful."
	// author = "Ann"
	// protocol_version = "1.0.0"
	// entrypoint = "lease"
	//
	// [[hooks]]
	// command = "git"
	// stage = "preexec"
	// mode = "transform"
	// <nil>
}
