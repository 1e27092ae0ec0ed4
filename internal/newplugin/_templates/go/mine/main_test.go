package main

import (
	"os"
	"slices"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func TestLease(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Mine, plugintest.Options{})
	for _, c := range []struct{ args, want []string }{
		{[]string{"push", "--force", "origin"}, []string{"push", "--force-with-lease", "origin"}},
		{[]string{"push", "-f"}, []string{"push", "--force-with-lease"}},
		{[]string{"status", "--force"}, []string{"status", "--force"}},
	} {
		out := plugintest.Fire(host, plugin.CommandBefore, plugin.CommandEvent{Command: "git", Args: c.args})
		if !slices.Equal(out.Event.Args, c.want) {
			t.Errorf("%q: got %q", c.args, out.Event.Args)
		}
	}
}

// TestManifest: mine-plugin.toml is up to date.
func TestManifest(t *testing.T) {
	want, err := newPlugin().Manifest(plugin.Mine, "./my-plugin")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("mine-plugin.toml"); err != nil || string(got) != string(want) {
		t.Errorf("mine-plugin.toml is out of date (%v): ./my-plugin manifest mine >mine-plugin.toml\n%s", err, want)
	}
}
