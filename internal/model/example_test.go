package model_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// The offline model plays a script, and streams it word by word.
func ExampleOffline() {
	script, err := model.ParseScript("turn.yaml", []byte(`
- text: Let me look.
  tools: [{name: read_file, arguments: {path: go.mod}}]
- text: It is a Go module.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := model.Offline(script)
	req := &model.Request{Messages: []model.Message{{Role: model.User, Content: "What is this?"}}}
	resp, err := m.Reply(context.Background(), req, func(d model.Delta) { fmt.Printf("%q\n", d.Text+d.ToolCall) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s\n", resp.Stop, resp.ToolCalls[0].Name, resp.ToolCalls[0].Arguments)
	// Output:
	// "Let "
	// "me "
	// "look."
	// "read_file"
	// tools read_file {"path":"go.mod"}
}

// --model and $PATCHBAY_MODEL override the config.
func ExampleConfig_With() {
	c, err := model.Config{Provider: "openai", Name: "small"}.With("anthropic:large")
	fmt.Println(c.Provider, c.Name, err)
	_, err = c.With("large")
	what, _, _ := strings.Cut(err.Error(), ";")
	fmt.Println(what)
	// Output:
	// anthropic large <nil>
	// unknown model provider "large"
}
