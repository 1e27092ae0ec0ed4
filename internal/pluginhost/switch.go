package pluginhost

import "encoding/json"

// Switched is the result of enabling or disabling a plugin.
type Switched struct {
	Plugin  string `json:"plugin"`
	Dialect string `json:"dialect"`
	Enabled bool   `json:"enabled"`
	File    string `json:"file"`
	Backup  string `json:"backup"`
	Changed bool   `json:"changed"`
}

// Switch enables or disables a plugin in config.toml. Every other byte of the file stays. It does
// not reload the host.
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

// Sighted says where a plugin is, and under which names.
type Sighted struct {
	Dialect string
	Place   string // the name of its file or directory
	Name    string // the name that people see
	Path    string
	Logged  string // the name in the log
}

// Sighted returns the place and the names of a plugin.
func (h *Host) Sighted(name string) (Sighted, error) {
	e, err := h.find(name)
	if err != nil {
		return Sighted{}, err
	}
	return Sighted{Dialect: e.found.Dialect, Place: e.names.place, Name: e.info.Name, Path: e.found.Path, Logged: e.found.Name}, nil
}
