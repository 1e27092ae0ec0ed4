// Command sdk is a small plugin that is written with the SDK: a hook that changes a text, and a
// tool.
package main

import (
	"context"
	"strings"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

type countArgs struct {
	Text string `json:"text"`
}

type countResult struct {
	Words int `json:"words"`
}

func main() {
	p := plugin.New("bench", "1.0.0", "Counts words.")
	plugin.On(p, plugin.TurnInput, func(_ context.Context, e *plugin.InputEvent) plugin.Verdict {
		e.Message += "!"
		return plugin.Modify()
	})
	plugin.Tool(p, "count", "Counts words.", func(_ context.Context, in countArgs) (countResult, error) {
		return countResult{len(strings.Fields(in.Text))}, nil
	})
	p.Main()
}
