package daemon

import (
	"reflect"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/otlp"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// shapes returns the types of the backend's answers, for the OpenAPI document.
func shapes() httpapi.Shapes {
	return httpapi.Shapes{
		Plugins: []pluginhost.PluginInfo{}, Plugin: pluginhost.PluginDetail{}, Tools: []pluginhost.Tool{}, KnobChange: pluginhost.KnobChange{},
		Doctor: Diagnosis{}, Pipeline: pipeline{}, Health: health{}, Turn: chat.Result{},
		Jobs: []JobInfo{}, Run: job.Run{}, Runs: RunPage{}, Output: []job.Line{},
		Names: map[reflect.Type]string{
			reflect.TypeFor[pluginhost.PluginInfo]():  "Plugin",
			reflect.TypeFor[pluginhost.Wire]():        "PluginWire",
			reflect.TypeFor[pluginhost.Manifest]():    "PluginManifest",
			reflect.TypeFor[pluginhost.Capability]():  "PluginCapability",
			reflect.TypeFor[pluginhost.Mount]():       "PluginMount",
			reflect.TypeFor[pluginhost.Denied]():      "PluginDenial",
			reflect.TypeFor[pluginhost.Counters]():    "PluginCounters",
			reflect.TypeFor[pluginhost.TrustDetail](): "PluginLock",
			reflect.TypeFor[pluginhost.PointHook]():   "PipelineHook",
			reflect.TypeFor[trust.Change]():           "PluginChange",
			reflect.TypeFor[dialect.Problem]():        "FileProblem",
			reflect.TypeFor[Diagnosis]():              "Doctor",
			reflect.TypeFor[pluginhost.Action]():      "FindingAction",
			reflect.TypeFor[otlp.Counts]():            "TelemetryCount",
			reflect.TypeFor[chat.Result]():            "TurnResult",
			reflect.TypeFor[model.Usage]():            "TokenUsage",
			reflect.TypeFor[job.Run]():                "JobRun",
			reflect.TypeFor[job.Line]():               "OutputLine",
		},
	}
}
