package job

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

// TestEachConnectedPluginThatFailsIsReported: the configuration may connect several plugins to a
// point of a job. The failure of one does not hide that of another.
func TestEachConnectedPluginThatFailsIsReported(t *testing.T) {
	failed := func(plugin, why string) hook.Step {
		return hook.Step{Plugin: plugin, Err: &hook.Error{Plugin: plugin, Dialect: "mine", Hook: "notify", Point: hook.JobSink, Kind: hook.Crash, Err: errors.New(why)}}
	}
	out := &hook.Outcome{Point: hook.JobSink, Steps: []hook.Step{failed("a", "disk full"), {Plugin: "b"}, failed("c", "no network")}}
	var r Attempt
	r.addSinkErrors("sink ", out, nil)
	want := []string{"sink plugin a (mine) notify at job.sink: disk full", "sink plugin c (mine) notify at job.sink: no network"}
	if !slices.Equal(r.Sinks, want) || len(r.SinkFixes) != 2 {
		t.Errorf("%q, %q", r.Sinks, r.SinkFixes)
	}
	err := pluginSender{}.failure(out, nil)
	if err == nil || !strings.Contains(err.Error(), "disk full") || !strings.Contains(err.Error(), "no network") {
		t.Errorf("%v", err)
	}
}
