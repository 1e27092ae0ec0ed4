package main

import (
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func TestCount(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.MCP, plugintest.Options{})
	got, err := host.Tool("count", map[string]string{"text": "to be or not to be"})
	if err != nil || got != "words: 6, lines: 1, characters: 18" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := host.Tool("count", map[string]int{"text": 7}); err == nil {
		t.Error("a number was counted")
	}
}
