// Command my-plugin is a kaged plugin: it stores notes for the agent, and gives them to the model
// when a session starts. manifest.yaml declares what it offers: after a change, build it and run
// `./my-plugin manifest kaged >manifest.yaml`.
package main

import (
	"context"
	"strings"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

func main() { newPlugin().Main() }

// notes has the plugin's functions and their shared state.
type notes struct{ state *plugin.State }

// newPlugin makes the plugin, for main and for the tests.
func newPlugin() *plugin.Plugin {
	p := plugin.New("my-plugin", "0.1.0", "Stores notes, and gives them to the model when a session starts.")
	n := &notes{p.State()}
	plugin.On(p, plugin.SessionStart, n.start)
	plugin.Tool(p, "add", "Store a note for later sessions.", n.add)
	plugin.Tool(p, "list", "List the stored notes.", n.list)
	return p
}

// start is called when a session starts. The model gets the text that it injects.
func (n *notes) start(ctx context.Context, e *plugin.SessionEvent) plugin.Verdict {
	all, err := n.list(ctx, struct{}{})
	if err != nil || len(all) == 0 {
		return plugin.Fail(err)
	}
	e.Inject = "Notes from earlier:\n- " + strings.Join(all, "\n- ")
	return plugin.Modify()
}

// addIn has the arguments of the tool.
type addIn struct {
	Text string `json:"text" doc:"What to remember."`
}

func (n *notes) add(ctx context.Context, in addIn) (string, error) {
	all, err := n.list(ctx, struct{}{})
	if err != nil {
		return "", err
	}
	return "kept", n.state.Put(ctx, "notes", append(all, in.Text))
}

func (n *notes) list(ctx context.Context, _ struct{}) ([]string, error) {
	all := []string{}
	_, err := n.state.Get(ctx, "notes", &all)
	return all, err
}
