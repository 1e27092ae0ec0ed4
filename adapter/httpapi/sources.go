package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// namePattern is the pattern of names in paths and bodies. A name that fits cannot lead out of the
// directory: docs/protocols/python.md, row P51.
var namePattern = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

const nameRule = ". A name has letters, digits, _ and -, at most 64, and does not begin with -."

// The types below are the requests and answers of the routes of docs/protocols/python.md, row P50.
// The protocol fixes the order of their fields.

type sourceName struct {
	Name string `path:"name" doc:"The plugin's name: that of its file, without .py." example:"sign"`
}

type sourceText struct {
	Body struct {
		Name    string `json:"name" doc:"Letters, digits, _ and -, at most 64." example:"sign"`
		Content string `json:"content" doc:"The source text." example:"@on_final\nasync def add(ctx, text):\n    return text\n"`
	}
}

type sourceItem struct {
	Name     string          `json:"name" doc:"Its name." example:"sign"`
	Hooks    []string        `json:"hooks" nullable:"false" doc:"In lifecycle order." example:"[\"on_final\"]"`
	Metadata json.RawMessage `json:"metadata" doc:"The file's __plugin__." example:"{\"api\":\"1.0\",\"name\":\"sign\"}"`
	Error    *string         `json:"error" doc:"Why it does not load; null if it loads." example:"SyntaxError: invalid syntax"`
}

type sourceList struct {
	Plugins        []sourceItem `json:"plugins" nullable:"false" doc:"By name."`
	FeatureEnabled bool         `json:"feature_enabled" doc:"Whether Python plugins take part in sessions over HTTP." example:"true"`
}

type sourceDetail struct {
	Name     string          `json:"name" doc:"Its name." example:"sign"`
	Path     string          `json:"path" doc:"Its file." example:"/home/mira/.agent/plugins/sign.py"`
	Hooks    []string        `json:"hooks" nullable:"false" doc:"In lifecycle order." example:"[\"on_final\"]"`
	Metadata json.RawMessage `json:"metadata" doc:"The file's __plugin__; if the file does not load, an object with the error." example:"{\"api\":\"1.0\",\"name\":\"sign\"}"`
	Content  string          `json:"content" doc:"The source text." example:"@on_final\nasync def add(ctx, text):\n    return text\n"`
}

type sourceSaved struct {
	Name     string   `json:"name" doc:"Its name." example:"sign"`
	Path     string   `json:"path" doc:"Its file." example:"/home/mira/.agent/plugins/sign.py"`
	Warnings []string `json:"warnings,omitempty" doc:"What in the code has no effect; left out if there is nothing." example:"[\"there is no hook on_fnal, so what it decorates handles nothing: did you mean @on_final?\"]"`
}

type sourceLoaded struct {
	Name     string          `json:"name" doc:"Its name." example:"sign"`
	Hooks    []string        `json:"hooks" nullable:"false" doc:"In lifecycle order." example:"[\"on_final\"]"`
	Metadata json.RawMessage `json:"metadata" doc:"The file's __plugin__." example:"{\"api\":\"1.0\",\"name\":\"sign\"}"`
	Warnings []string        `json:"warnings,omitempty" doc:"What in the code has no effect, or could not be checked; left out if there is nothing." example:"[\"there is no hook on_fnal, so what it decorates handles nothing: did you mean @on_final?\"]"`
}

type deleted struct {
	Deleted string `json:"deleted" doc:"What was deleted." example:"sign"`
}

func (a *api) addSources() {
	const tag, off = "python plugins", http.StatusServiceUnavailable
	add(a, route{method: "GET", path: "/plugin/list", id: "list-sources", tag: tag, summary: "List the Python plugins",
		doc: "Plugins that do not load are listed too, with the error. Works even if the feature is off."}, a.listSources)
	add(a, route{method: "GET", path: "/plugin/{name}", id: "get-source", tag: tag, summary: "Show a Python plugin and its source",
		errors: []int{400, 404}}, a.getSource)
	add(a, route{method: "POST", path: "/plugin/save", id: "save-source", tag: tag, summary: "Save a Python plugin",
		doc: "The code is checked first. Then the file is created, or replaced in one step.", errors: []int{off}}, a.saveSource)
	add(a, route{method: "DELETE", path: "/plugin/{name}", id: "delete-source", tag: tag, summary: "Delete a Python plugin",
		errors: []int{404, off}}, a.deleteSource)
	add(a, route{method: "POST", path: "/plugin/{name}/reload", id: "reload-source", tag: tag,
		summary: "Load a Python plugin again from its file", errors: []int{404, off}}, a.reloadSource)
	add(a, route{method: "POST", path: "/plugin/validate", id: "validate-source", tag: tag,
		summary: "Check the code of a Python plugin without saving it"}, a.validateSource)
	a.addSourceCheck()
}

type sourceDraft struct {
	Body struct {
		Content string `json:"content" doc:"The source text." example:"@on_final\nasync def add(ctx, text):\n    return text + '!'\n"`
	}
}

func (a *api) addSourceCheck() {
	add(a, route{method: "POST", path: "/v1/python/check", id: "check-source", tag: "python plugins", summary: "Parse the code of a Python plugin without running it",
		doc: "Says whether the code can be parsed, and where it cannot. It is fast enough to call while a user types. `POST /plugin/validate` runs the code, in a sandbox.", errors: []int{503}},
		func(ctx context.Context, in *sourceDraft) (*answer[SourceCheck], error) {
			return answered(a.Sources.Parse(ctx, in.Body.Content))
		})
}

func (a *api) listSources(ctx context.Context, _ *struct{}) (*answer[sourceList], error) {
	sources, err := a.Sources.List(ctx)
	if err != nil {
		return nil, err
	}
	enabled, err := a.pluginsEnabled(ctx)
	list := sourceList{Plugins: make([]sourceItem, len(sources)), FeatureEnabled: enabled}
	for i, s := range sources {
		list.Plugins[i] = sourceItem{Name: s.Name, Hooks: orEmpty(s.Hooks), Metadata: s.metadata()}
		if s.Error != "" {
			list.Plugins[i].Error = &s.Error
		}
	}
	return answered(list, err)
}

// getSource shows one plugin, even if it does not load: docs/protocols/python.md, row P59.
func (a *api) getSource(ctx context.Context, in *sourceName) (*answer[sourceDetail], error) {
	if err := checkName(in.Name); err != nil {
		return nil, err
	}
	s, err := a.Sources.Get(ctx, in.Name)
	if err == nil && s.Error != "" {
		s.Metadata, err = json.Marshal(map[string]string{"error": s.Error})
	}
	return answered(sourceDetail{Name: s.Name, Path: s.Path, Hooks: orEmpty(s.Hooks), Metadata: s.metadata(), Content: s.Content},
		named(err, in.Name))
}

func (a *api) saveSource(ctx context.Context, in *sourceText) (*answer[sourceSaved], error) {
	if err := a.mayChange(ctx, in.Body.Name); err != nil {
		return nil, err
	}
	s, err := a.Sources.Save(ctx, in.Body.Name, in.Body.Content)
	return answered(sourceSaved{Name: in.Body.Name, Path: s.Path, Warnings: s.Warnings}, err)
}

func (a *api) deleteSource(ctx context.Context, in *sourceName) (*answer[deleted], error) {
	if err := a.mayChange(ctx, in.Name); err != nil {
		return nil, err
	}
	err := a.Sources.Delete(ctx, in.Name)
	return answered(deleted{in.Name}, named(err, in.Name))
}

func (a *api) reloadSource(ctx context.Context, in *sourceName) (*answer[sourceLoaded], error) {
	if err := a.mayChange(ctx, in.Name); err != nil {
		return nil, err
	}
	s, err := a.Sources.Reload(ctx, in.Name)
	return answered(s.loaded(), named(err, in.Name))
}

func (a *api) validateSource(ctx context.Context, in *sourceText) (*answer[sourceLoaded], error) {
	if err := checkName(in.Body.Name); err != nil {
		return nil, err
	}
	s, err := a.Sources.Validate(ctx, in.Body.Name, in.Body.Content)
	return answered(s.loaded(), err)
}

// mayChange returns an error if the flag is off or the name is invalid: docs/protocols/python.md,
// rows P48 and P51.
func (a *api) mayChange(ctx context.Context, name string) error {
	enabled, err := a.pluginsEnabled(ctx)
	switch {
	case err != nil:
		return err
	case !enabled:
		return &problem{http.StatusServiceUnavailable, detailFeatureOff}
	}
	return checkName(name)
}

// pluginsEnabled reports whether the flag is on. Without a store of flags it is off, which is its
// default: docs/protocols/python.md, row P48.
func (a *api) pluginsEnabled(ctx context.Context) (bool, error) {
	if a.Features == nil {
		return false, nil
	}
	f, err := a.Features.Get(ctx, feature.Plugins)
	return f.Enabled, err
}

func checkName(name string) error {
	if !namePattern.MatchString(name) {
		return &InvalidNameError{Name: name}
	}
	return nil
}

func (s Source) loaded() sourceLoaded {
	return sourceLoaded{Name: s.Name, Hooks: orEmpty(s.Hooks), Metadata: s.metadata(), Warnings: s.Warnings}
}

func (s Source) metadata() json.RawMessage {
	if len(s.Metadata) == 0 {
		return json.RawMessage("{}")
	}
	return s.Metadata
}

// orEmpty returns a list that encodes as [], not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
