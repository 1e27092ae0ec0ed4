package main

import (
	"os"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func TestNotesAreKept(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Kaged, plugintest.Options{})
	if out := plugintest.Fire(host, plugin.SessionStart, plugin.SessionEvent{SessionID: "1"}); out.Event.Inject != "" {
		t.Errorf("there are no notes yet, and a session starts with %q", out.Event.Inject)
	}
	if got, err := host.Tool("add", map[string]string{"text": "tea"}); err != nil || got != "kept" {
		t.Errorf("add: %q, %v", got, err)
	}
	if got, err := host.Tool("list", nil); err != nil || got != `["tea"]` {
		t.Errorf("list: %q, %v", got, err)
	}
	out := plugintest.Fire(host, plugin.SessionStart, plugin.SessionEvent{SessionID: "2"})
	if out.Event.Inject != "Notes from earlier:\n- tea" {
		t.Errorf("a session starts with %q", out.Event.Inject)
	}
}

func TestAddWantsAText(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Kaged, plugintest.Options{})
	if _, err := host.Tool("add", map[string]int{}); err == nil {
		t.Error("a note without a text was kept")
	}
}

// TestManifest: the file says what the plugin is.
func TestManifest(t *testing.T) {
	want, err := newPlugin().Manifest(plugin.Kaged, "./my-plugin")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("manifest.yaml"); err != nil || string(got) != string(want) {
		t.Errorf("manifest.yaml is out of date (%v): ./my-plugin manifest kaged >manifest.yaml\n%s", err, want)
	}
}
