package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// Plugins are the actions on one plugin. The methods return ErrNoPlugin for a plugin that does not
// exist.
type Plugins interface {
	// CallMethod calls a method of a plugin, as `patchbay call` does. ErrNoMethod, with the names
	// of its methods after it.
	CallMethod(ctx context.Context, name, method string, params json.RawMessage) (json.RawMessage, error)
	// SetKnob sets a knob, as `plugin knob` does. ErrNoKnob, *InvalidRequestError, ErrFileChanged.
	SetKnob(ctx context.Context, name string, s KnobSetting) (any, error)
	// Reload reads the plugin's config again and restarts it.
	Reload(ctx context.Context, name string) (restarted bool, err error)
	// Restart restarts the plugin. ErrNotNow.
	Restart(ctx context.Context, name string) error
	// MakeExecutable makes the plugin's file executable for its owner, if that is why it does not
	// start. ErrNotNow.
	MakeExecutable(ctx context.Context, name string) error
	// ReloadAll reloads configuration, secrets, plugins and agents. No event is lost.
	ReloadAll(ctx context.Context) error
}

// A KnobSetting is a new value of a knob. The host has a type with the same fields, like
// [ConfigChange].
type KnobSetting struct {
	Key     string
	Value   json.RawMessage // null: remove the value from the file
	Project bool            // write the project's file
}

// Errors for something that a plugin does not have.
var (
	ErrNoMethod = errors.New("no such method")
	ErrNoKnob   = errors.New("no such knob")
)

// ErrNotNow says that an action is not possible in the present state of a plugin.
var ErrNotNow = errors.New("not now")

// ErrFileChanged says that another program has changed the configuration file at the same time.
var ErrFileChanged = errors.New("configuration file changed")

type methodCall struct {
	Name string `path:"name" maxLength:"256" doc:"The plugin's name." example:"notes"`
	Body struct {
		Method string          `json:"method" minLength:"1" maxLength:"256" doc:"A method that the plugin declares." example:"notes.count"`
		Params json.RawMessage `json:"params,omitempty" doc:"An object; the default is {}." example:"{}"`
	}
}

type methodResult struct {
	Plugin string          `json:"plugin" doc:"The plugin." example:"notes"`
	Method string          `json:"method" doc:"The method." example:"notes.count"`
	Result json.RawMessage `json:"result" doc:"What it answered." example:"{\"count\":3}"`
	Error  *string         `json:"error" doc:"How it failed; null if it answered." example:"no such note"`
}

type knobSetting struct {
	Name string `path:"name" maxLength:"256" doc:"The plugin's name." example:"notes"`
	Key  string `path:"key" maxLength:"256" doc:"The knob's key." example:"shown"`
	Body struct {
		Value   json.RawMessage `json:"value" doc:"The new value; null removes it from the file, so that the knob has its default." example:"5"`
		Project bool            `json:"project,omitempty" doc:"Write it into .patchbay/config.toml of the daemon's project." example:"false"`
	}
}

type reloaded struct {
	Plugin    string `json:"plugin" doc:"The plugin." example:"notes"`
	Restarted bool   `json:"restarted" doc:"Whether the plugin was restarted and works." example:"true"`
}

type allReloaded struct {
	Reloaded bool `json:"reloaded" doc:"Always true." example:"true"`
}

func (a *api) addPlugins() {
	const tag = "calls"
	add(a, route{method: "POST", path: "/v1/plugins/{name}/call", id: "call-method", tag: tag, summary: "Call one of a plugin's own methods",
		doc: "A method that answers with an error is 502, with the plugin's message.", errors: pluginErrors}, a.callMethod)
	add(a, route{method: "PUT", path: "/v1/plugins/{name}/knobs/{key}", id: "set-knob", tag: tag, summary: "Set one of a plugin's knobs",
		doc: "The value is written to config.toml, everything else in the file stays, and the plugin is restarted between two calls. " +
			"Changes within 300 ms cause one restart.",
		shape: a.Shapes.KnobChange, errors: append([]int{409}, pluginErrors...)}, a.setKnob)
	add(a, route{method: "POST", path: "/v1/plugins/{name}/reload", id: "reload-plugin-config", tag: tag, summary: "Read a plugin's config again",
		doc: "A running plugin is restarted between two calls; a broken one is started again.", errors: pluginErrors}, a.reloadPlugin)
	if a.Inspect != nil { // their answer comes from Inspect
		a.addPluginActions()
	}
	add(a, route{method: "POST", path: "/v1/reload", id: "reload", tag: tag, summary: "Reload everything",
		doc: "Reloads configuration, secrets, plugins and agents, as SIGHUP does. Events in progress continue with the plugins that they began with. " +
			"If a file has an error, the answer is 503, and everything stays as it was.", errors: []int{503}},
		func(ctx context.Context, _ *struct{}) (*answer[allReloaded], error) {
			err := a.Plugins.ReloadAll(ctx)
			return answered(allReloaded{err == nil}, err)
		})
}

func (a *api) callMethod(ctx context.Context, in *methodCall) (*answer[methodResult], error) {
	params, err := object("params", in.Body.Params)
	if err != nil {
		return nil, err
	}
	result, err := a.Plugins.CallMethod(ctx, in.Name, in.Body.Method, params)
	if errors.Is(err, ErrNoMethod) {
		return nil, &problem{http.StatusNotFound, strings.Replace(err.Error(), ErrNoMethod.Error(), "Method not found: "+excerpt.Of(in.Body.Method, maxName), 1)}
	}
	if len(result) == 0 {
		result = json.RawMessage("null")
	}
	return answered(methodResult{Plugin: in.Name, Method: in.Body.Method, Result: result}, named(err, in.Name))
}

func (a *api) setKnob(ctx context.Context, in *knobSetting) (*answer[json.RawMessage], error) {
	change, err := a.Plugins.SetKnob(ctx, in.Name, KnobSetting{Key: in.Key, Value: in.Body.Value, Project: in.Body.Project})
	switch {
	case errors.Is(err, ErrNoKnob):
		return nil, &problem{http.StatusNotFound, "Knob not found: " + excerpt.Of(in.Key, maxName)}
	case errors.Is(err, ErrFileChanged):
		return nil, &problem{http.StatusConflict, err.Error()}
	}
	return encoded(change, named(err, in.Name))
}

func (a *api) reloadPlugin(ctx context.Context, in *pluginName) (*answer[reloaded], error) {
	restarted, err := a.Plugins.Reload(ctx, in.Name)
	return answered(reloaded{in.Name, restarted}, named(err, in.Name))
}

// addPluginActions adds the actions on a plugin that does not work.
func (a *api) addPluginActions() {
	const tag = "calls"
	states := append([]int{http.StatusConflict}, pluginErrors...)
	add(a, route{method: "POST", path: "/v1/plugins/{name}/restart", id: "restart-plugin", tag: tag, summary: "Restart a plugin",
		doc: "Starts it again from its files. Events in progress continue with the old process. Answers with the plugin, whose `state` and `error` say " +
			"whether it works. The answer for a disabled plugin is 409.", shape: a.Shapes.Plugin, errors: states}, a.pluginAction(a.Plugins.Restart))
	add(a, route{method: "POST", path: "/v1/plugins/{name}/executable", id: "make-executable", tag: tag, summary: "Make a plugin's file executable",
		doc:   "Runs chmod u+x on the plugin's own file, if that is why it does not start; otherwise the answer is 409. Then starts the plugin, and answers with it.",
		shape: a.Shapes.Plugin, errors: states}, a.pluginAction(a.Plugins.MakeExecutable))
}

// pluginAction returns a route that acts on a plugin and answers with its new state.
func (a *api) pluginAction(do func(ctx context.Context, name string) error) func(context.Context, *pluginName) (*answer[json.RawMessage], error) {
	return func(ctx context.Context, in *pluginName) (*answer[json.RawMessage], error) {
		if err := do(ctx, in.Name); err != nil {
			return nil, named(err, in.Name)
		}
		return a.plugin(ctx, in)
	}
}
