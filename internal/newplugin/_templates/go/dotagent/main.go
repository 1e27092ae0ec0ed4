// Command my-plugin is a dotagent sink: it appends the output of an agent to a file, under a
// heading.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

func main() { newPlugin().Main() }

// settings is the plugin's config in the manifest of an agent.
type settings struct {
	Path string `json:"path" doc:"The file; ~ is your home" min:"1"`
}

// newPlugin makes the plugin, for main and for the tests.
func newPlugin() *plugin.Plugin {
	p := plugin.New("my-plugin", "0.1.0", "Appends the output of agents to a file")
	config := plugin.Config(p, settings{})
	plugin.On(p, plugin.JobSink, func(_ context.Context, e *plugin.JobEvent) plugin.Verdict { return plugin.Fail(keep(config.Path, e)) })
	return p
}

// keep appends the message of an event to a file.
func keep(path string, e *plugin.JobEvent) error {
	path, err := expand(path)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.WriteString(file, fmt.Sprintf("## %s/%s, %s\n\n%s\n\n", e.Agent, e.Schedule, time.Now().Format("2006-01-02 15:04"), strings.TrimRight(e.Message, "\n")))
	return err
}

// expand replaces a leading ~, which no shell has done here.
func expand(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, rest), err
}
