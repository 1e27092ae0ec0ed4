// Command my-plugin is a scaffold plugin: it tells the agent which day it is, and counts words.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

func main() { newPlugin().Main() }

// newPlugin makes the plugin, for main and for the tests.
func newPlugin() *plugin.Plugin {
	p := plugin.New("my-plugin", "0.1.0", "Tells the date, and counts words")
	plugin.On(p, plugin.PromptContext, date)
	plugin.Tool(p, "count", "Count the words, lines and characters of a text", count)
	return p
}

// date is called while a prompt is built. It adds the date to the prompt.
func date(_ context.Context, e *plugin.ContextEvent) plugin.Verdict {
	e.Add("# Date\nToday is " + time.Now().Format(time.DateOnly) + ".")
	return plugin.Modify()
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
