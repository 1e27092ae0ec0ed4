package pluginhost

import (
	"encoding/json"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/editfile"
)

// Switched is what became of a plugin that was enabled or disabled.
type Switched struct {
	Plugin  string `json:"plugin"`
	Dialect string `json:"dialect"`
	Enabled bool   `json:"enabled"`
	File    string `json:"file"`
	Backup  string `json:"backup"`
	Changed bool   `json:"changed"`
}

// Switch enables or disables a plugin in config.toml, where every other byte stays. It does not reload the host.
func (h *Host) Switch(name string, on bool) (*Switched, error) {
	e, err := h.find(name)
	if err != nil {
		return nil, err
	}
	file := h.setup().dirs.ConfigFile
	done := &Switched{Plugin: e.info.Name, Dialect: e.found.Dialect, Enabled: on, File: file}
	_, off := e.own.disabled()
	if off != on {
		return done, nil
	}
	keys := []string{h.sectionKey(e, layer{})}
	if on { // one key that disables is enough, so all of them are changed
		keys = nil
		for _, s := range e.own {
			if !s.table.On() {
				keys = append(keys, s.key)
			}
		}
	}
	result, err := editfile.Edit(editfile.Place{Dir: filepath.Dir(file), Name: filepath.Base(file), Mode: 0o600}, func(text []byte) ([]byte, error) {
		value := json.RawMessage("false")
		if on {
			value = json.RawMessage("true")
		}
		for _, key := range keys {
			if text, err = editfile.SetTOML(text, []string{"plugins", key, "enabled"}, value); err != nil {
				return nil, err
			}
		}
		_, err := config.ParseConfig(file, text)
		return text, err
	})
	done.Changed, done.Backup = result.Changed, result.Backup
	return done, err
}

// Sighted is where a plugin is, and by which name it goes there.
type Sighted struct {
	Dialect string
	Place   string // the name of its file or directory
	Name    string // by which it is shown
	Path    string
	Logged  string // by which the log speaks of it
}

// Sighted finds a plugin by its name.
func (h *Host) Sighted(name string) (Sighted, error) {
	e, err := h.find(name)
	if err != nil {
		return Sighted{}, err
	}
	return Sighted{Dialect: e.found.Dialect, Place: e.names.place, Name: e.info.Name, Path: e.found.Path, Logged: e.found.Name}, nil
}
