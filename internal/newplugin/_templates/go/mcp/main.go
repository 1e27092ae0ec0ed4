// Command my-plugin is an MCP server with one tool, which counts words.
package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

func main() { newPlugin().Main() }

// newPlugin makes the plugin, for main and for the tests.
func newPlugin() *plugin.Plugin {
	p := plugin.New("my-plugin", "0.1.0", "Counts words")
	plugin.Tool(p, "count", "Count the words, lines and characters of a text", count)
	return p
}

// countIn has the arguments of the tool.
type countIn struct {
	Text string `json:"text" doc:"The text"`
}

// count is the tool. If it returns an error, the call fails.
func count(_ context.Context, in countIn) (string, error) {
	lines := strings.Count(in.Text, "\n")
	if in.Text != "" && !strings.HasSuffix(in.Text, "\n") {
		lines++
	}
	return fmt.Sprintf("words: %d, lines: %d, characters: %d", len(strings.Fields(in.Text)), lines, utf8.RuneCountInString(in.Text)), nil
}
