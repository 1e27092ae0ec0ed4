// Command my-plugin is a mine plugin: it turns `git push --force` into `git push
// --force-with-lease`, which never overwrites commits that you have not fetched. mine-plugin.toml
// declares its hooks: after a change, build it and run `./my-plugin manifest mine
// >mine-plugin.toml`.
package main

import (
	"context"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

func main() { newPlugin().Main() }

// newPlugin makes the plugin, for main and for the tests.
func newPlugin() *plugin.Plugin {
	p := plugin.New("my-plugin", "0.1.0", "Turns git push --force into --force-with-lease")
	p.Author = "you"
	plugin.On(p, plugin.CommandBefore, lease, plugin.Only("git"))
	return p
}

// lease is called before git runs, and changes its arguments. plugin.Deny("…") would refuse the
// command.
func lease(_ context.Context, e *plugin.CommandEvent) plugin.Verdict {
	if len(e.Args) == 0 || e.Args[0] != "push" {
		return plugin.NoOpinion()
	}
	for i, arg := range e.Args {
		if arg == "--force" || arg == "-f" {
			e.Args[i] = "--force-with-lease"
		}
	}
	return plugin.Modify()
}
