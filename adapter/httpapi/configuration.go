package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Configuration is config.toml, as far as it may be changed over HTTP.
type Configuration interface {
	// Change makes changes, all of them or none, and returns when the daemon works with them; for a
	// preview it makes none. *UnprocessableError, ErrFileChanged, *UnavailableError.
	Change(ctx context.Context, r ConfigRequest) (ConfigResult, error)
}

// A ConfigRequest lists changes of the configuration.
type ConfigRequest struct {
	Changes []ConfigChange
	Preview bool
	Base    string // what a preview answered; "": any text of the file will do
}

// A ConfigChange is one thing to be said otherwise.
type ConfigChange struct {
	Set    string          `json:"set" enum:"enabled,priority,config,connect,disconnect" doc:"What is changed. Nothing else in the file can be." example:"priority"`
	Plugin string          `json:"plugin" minLength:"1" maxLength:"256" doc:"The plugin's name, or DIALECT:NAME where two dialects have one of that name." example:"words"`
	Value  json.RawMessage `json:"value,omitempty" doc:"For enabled true or false; for priority a whole number, or null for the plugin's own; for config an object, the whole of its config. In a config, a value that was shown as … stays." example:"500"`
	Hook   string          `json:"hook,omitempty" maxLength:"256" doc:"For connect and disconnect: the plugin's hook, by its own name." example:"preprocess_prompt"`
	Point  string          `json:"point,omitempty" maxLength:"256" doc:"For connect and disconnect: the point." example:"turn.input"`
}

// A ConfigResult tells what became of the file, or would.
type ConfigResult struct {
	File    string `json:"file" doc:"The configuration file." example:"/home/mira/.config/patchbay/config.toml"`
	Diff    string `json:"diff" doc:"The change as a unified diff, secrets left out; empty where nothing changes." example:"--- config.toml\n+++ config.toml\n@@ -1,2 +1,2 @@\n [plugins.words]\n-priority = 100\n+priority = 500\n"`
	Base    string `json:"base" doc:"Stands for the text of the file before the change. Sent with the change itself, it has that refused where the file has changed since." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	Applied bool   `json:"applied" doc:"Whether the file was written and the daemon works with it: not for a preview, nor where nothing changes." example:"true"`
}

// An UnprocessableError says that a request is understood, and that what it wants cannot be; the
// client is told the reason.
type UnprocessableError struct {
	Reason string
}

func (e *UnprocessableError) Error() string { return e.Reason }

type configChanges struct {
	Body struct {
		Changes []ConfigChange `json:"changes" minItems:"1" maxItems:"64" doc:"Made one after the other, all of them or none."`
		Preview bool           `json:"preview,omitempty" doc:"Only show what would change." example:"true"`
		Base    string         `json:"base,omitempty" maxLength:"64" doc:"The base that a preview answered: 409 where the file has changed since." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	}
}

func (a *api) addConfiguration() {
	add(a, route{method: "POST", path: "/v1/config/changes", id: "change-config", tag: "configuration", summary: "Change what the configuration says of plugins",
		doc: "Writes `enabled`, `priority`, `config` and `[[connect]]` of plugins to config.toml, where every other byte stays, keeps the file from before " +
			"beside it, and reloads. Everything else in the file is for its owner to write: 422. A config is checked against the plugin's schema: 422, with the places. " +
			"Where the daemon cannot work with the new file, the old one is put back: 503.",
		errors: []int{409, 503}}, a.changeConfig)
}

func (a *api) changeConfig(ctx context.Context, in *configChanges) (*answer[ConfigResult], error) {
	result, err := a.Configuration.Change(ctx, ConfigRequest(in.Body))
	if errors.Is(err, ErrFileChanged) {
		return nil, &problem{http.StatusConflict, err.Error()}
	}
	return answered(result, err)
}
