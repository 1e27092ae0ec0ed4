package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func TestAMessageIsKeptUnderAHeading(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "kept.md")
	host := plugintest.New(t, newPlugin(), plugin.Dotagent, plugintest.Options{Config: settings{Path: file}})
	out := plugintest.Fire(host, plugin.JobSink, plugin.JobEvent{Agent: "a", Schedule: "daily", Event: "success", Message: "one\ntwo\n"})
	if out.Verdict != "continue" {
		t.Fatalf("got %+v", out)
	}
	got, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(got), "## a/daily, ") || !strings.HasSuffix(string(got), "\n\none\ntwo\n\n") {
		t.Errorf("kept %q, %v", got, err)
	}
}

func TestAConfigNeedsAPath(t *testing.T) {
	host := plugintest.New(t, newPlugin(), plugin.Dotagent, plugintest.Options{})
	if err := host.Validate(settings{Path: "~/kept.md"}); err != nil {
		t.Error(err)
	}
	if err := host.Validate(struct{}{}); err == nil {
		t.Error("a config without a path was accepted")
	}
}
