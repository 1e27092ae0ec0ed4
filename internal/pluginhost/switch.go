package pluginhost

import "encoding/json"

// Switched is what became of a plugin that was enabled or disabled.
type Switched struct {
	Plugin  string `json:"plugin"`
	Dialect string `json:"dialect"`
	Enabled bool   `json:"enabled"`
	File    string `json:"file"`
	Backup  string `json:"backup"`
	Changed bool   `json:"changed"`
}

// Switch enables or disables a plugin in config.toml, where every other byte stays. It does not
// reload the host.
func (h *Host) Switch(name string, on bool) (*Switched, error) {
	e, err := h.find(name)
	if err != nil {
		return nil, err
	}
	value := json.RawMessage("false")
	if on {
		value = json.RawMessage("true")
	}
	edit, err := h.ChangeConfig([]ConfigChange{{Set: SetEnabled, Plugin: name, Value: value}}, "")
	return &Switched{Plugin: e.info.Name, Dialect: e.found.Dialect, Enabled: on, File: edit.File, Backup: edit.Backup, Changed: edit.Written}, err
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
