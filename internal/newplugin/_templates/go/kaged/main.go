// Command my-plugin is a kaged plugin: it keeps notes for the agent, and brings them back when a
// session starts. What it offers is also declared in manifest.yaml: after a change, build it and
// run `./my-plugin manifest kaged >manifest.yaml`.
package main

import (
	"context"
	"strings"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

func main() { newPlugin().Main() }

// notes is the plugin's functions, and what they share.
type notes struct{ state *plugin.State }

// newPlugin puts the plugin together; the tests do it too.
func newPlugin() *plugin.Plugin {
	p := plugin.New("my-plugin", "0.1.0", "Keeps notes, and brings them back when a session starts.")
	n := &notes{p.State()}
	plugin.On(p, plugin.SessionStart, n.start)
	plugin.Tool(p, "add", "Keep a note for later sessions.", n.add)
	plugin.Tool(p, "list", "List the notes that were kept.", n.list)
	return p
}

// start is asked when a session starts: what it injects is told to the model.
func (n *notes) start(ctx context.Context, e *plugin.SessionEvent) plugin.Verdict {
	all, err := n.list(ctx, struct{}{})
	if err != nil || len(all) == 0 {
		return plugin.Fail(err)
	}
	e.Inject = "Notes from earlier:\n- " + strings.Join(all, "\n- ")
	return plugin.Modify()
}

// addIn is what the tool is given.
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
