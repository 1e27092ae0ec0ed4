package main

import (
	"strings"
	"testing"
	"time"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func TestCount(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Scaffold, plugintest.Options{})
	got, err := host.Tool("count", map[string]string{"text": "to be or not to be"})
	if err != nil || got != "words: 6, lines: 1, characters: 18" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := host.Tool("count", map[string]int{"text": 7}); err == nil {
		t.Error("a number was counted")
	}
}

func TestTheDateIsInTheContext(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Scaffold, plugintest.Options{})
	before := time.Now().Format(time.DateOnly)
	out := plugintest.Fire(host, plugin.PromptContext, plugin.ContextEvent{UserMessage: "hi", DynamicContext: "before"})
	after := time.Now().Format(time.DateOnly) // the next day, if midnight was in between
	got := out.Event.DynamicContext
	if !strings.HasPrefix(got, "before\n\n# Date") || !strings.Contains(got, before) && !strings.Contains(got, after) {
		t.Errorf("the context is %q", got)
	}
}
