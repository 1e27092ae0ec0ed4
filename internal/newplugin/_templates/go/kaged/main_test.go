package main

import (
	"os"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func TestNotesAreStored(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Kaged, plugintest.Options{})
	if out := plugintest.Fire(host, plugin.SessionStart, plugin.SessionEvent{SessionID: "1"}); out.Event.Inject != "" {
		t.Errorf("without notes a session starts with %q", out.Event.Inject)
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

func TestAddNeedsAText(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Kaged, plugintest.Options{})
	if _, err := host.Tool("add", map[string]int{}); err == nil {
		t.Error("a note without a text was stored")
	}
}

// TestManifest: manifest.yaml is up to date.
func TestManifest(t *testing.T) {
	want, err := newPlugin().Manifest(plugin.Kaged, "./my-plugin")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("manifest.yaml"); err != nil || string(got) != string(want) {
		t.Errorf("manifest.yaml is out of date (%v): ./my-plugin manifest kaged >manifest.yaml\n%s", err, want)
	}
}
