package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Configuration changes config.toml, as far as clients may change it over HTTP.
type Configuration interface {
	// Change makes all changes or none, and returns when the daemon uses them. For a preview it
	// makes none. *UnprocessableError, ErrFileChanged, *UnavailableError.
	Change(ctx context.Context, r ConfigRequest) (ConfigResult, error)
}

// A ConfigRequest lists changes of the configuration.
type ConfigRequest struct {
	Changes []ConfigChange
	Preview bool
	Base    string // the base of a preview; "": do not check whether the file has changed
}

// A ConfigChange is one change of the configuration. The host has a type with the same fields, to
// which the daemon converts it: this package does not import the host, and the host imports no
// adapter.
type ConfigChange struct {
	Set    string          `json:"set" enum:"enabled,priority,config,connect,disconnect" doc:"What to change. Nothing else in the file can be changed." example:"priority"`
	Plugin string          `json:"plugin" minLength:"1" maxLength:"256" doc:"The plugin's name, or DIALECT:NAME if plugins of two dialects have this name." example:"words"`
	Value  json.RawMessage `json:"value,omitempty" doc:"For enabled, true or false. For priority, a whole number, or null for the plugin's own priority. For config, an object with the whole config. In a config, … stands for a secret: send such a value as it was shown, and it is not changed." example:"500"`
	Hook   string          `json:"hook,omitempty" maxLength:"256" doc:"For connect and disconnect: the plugin's hook, by its own name." example:"pre_tool_execute"`
	Point  string          `json:"point,omitempty" maxLength:"256" doc:"For connect and disconnect: the point." example:"command.before"`
}

// A ConfigResult describes the change of the file, or for a preview the change that would be made.
type ConfigResult struct {
	File    string `json:"file" doc:"The configuration file." example:"/home/mira/.config/patchbay/config.toml"`
	Diff    string `json:"diff" doc:"The change as a unified diff, without secrets; empty if nothing changes." example:"--- config.toml\n+++ config.toml\n@@ -1,2 +1,2 @@\n [plugins.words]\n-priority = 100\n+priority = 500\n"`
	Base    string `json:"base" doc:"Identifies the text of the file before the change. If a request has it, the change is refused if the file has changed since." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	Applied bool   `json:"applied" doc:"Whether the file was written and the daemon uses it. False for a preview, and if nothing changes." example:"true"`
}

// An UnprocessableError says that a request is understood but cannot be carried out. The client
// gets the reason.
type UnprocessableError struct {
	Reason string
}

func (e *UnprocessableError) Error() string { return e.Reason }

type configChanges struct {
	Body struct {
		Changes []ConfigChange `json:"changes" minItems:"1" maxItems:"64" doc:"The changes, made in this order, all of them or none."`
		Preview bool           `json:"preview,omitempty" doc:"Only show what would change." example:"true"`
		Base    string         `json:"base,omitempty" maxLength:"64" doc:"The base of a preview. The answer is 409 if the file has changed since." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	}
}

func (a *api) addConfiguration() {
	add(a, route{method: "POST", path: "/v1/config/changes", id: "change-config", tag: "configuration", summary: "Change the configuration of plugins",
		doc: "Writes `enabled`, `priority`, `config` and `[[connect]]` of plugins to config.toml, keeps every other byte and a copy of the old file " +
			"beside it, and reloads. Other keys cannot be changed: 422. A config is checked against the plugin's schema: 422, with the places of the errors. " +
			"If the daemon cannot use the new file, it restores the old one: 503.",
		errors: []int{409, 503}}, a.changeConfig)
}

func (a *api) changeConfig(ctx context.Context, in *configChanges) (*answer[ConfigResult], error) {
	result, err := a.Configuration.Change(ctx, ConfigRequest(in.Body))
	if errors.Is(err, ErrFileChanged) {
		return nil, &problem{http.StatusConflict, err.Error()}
	}
	return answered(result, err)
}
