package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Knob is a setting that a plugin offers to its user, with its current value.
type Knob struct {
	dialect.Knob
	Value  json.RawMessage `json:"value" doc:"Its present value; null if it has none. A secret is shown as …" example:"3"`
	Source string          `json:"source" doc:"default, user or project; empty if it has no value." example:"user"`
}

// ErrBadValue is wrapped by the error for a value that the knob or the plugin's config does not
// allow.
var ErrBadValue = errors.New("the knob cannot have this value")

// A KnobSetting is a new value for a knob.
type KnobSetting struct {
	Key     string
	Value   json.RawMessage // null or empty: remove the value from this file
	Project bool            // write to the project's file instead of the user's
}

// A KnobChange is the result of SetKnob.
type KnobChange struct {
	Plugin    string `json:"plugin" doc:"The plugin." example:"notes"`
	Knob      Knob   `json:"knob" doc:"The knob with its present value. A value in the project's file comes before one in the user's."`
	File      string `json:"file" doc:"Where the value was written." example:"/home/mira/.config/patchbay/config.toml"`
	Backup    string `json:"backup" doc:"The old file; empty if nothing changed, or there was no file." example:"/home/mira/.config/patchbay/config.toml.patchbay.bak"`
	Changed   bool   `json:"changed" doc:"Whether the file changed." example:"true"`
	Restarted bool   `json:"restarted" doc:"Whether the plugin was restarted and works." example:"true"`
}

// knobs returns a plugin's knobs with their values.
func (h *Host) knobs(e *entry) []Knob {
	user, project := h.layersInUse(e)
	out := make([]Knob, 0, len(e.info.Knobs))
	for _, k := range e.info.Knobs {
		out = append(out, e.shownKnob(withValue(k, user, project)))
	}
	return out
}

// shownKnob replaces the value of a knob by a placeholder if it is a secret. A default is not a
// secret: it is in the manifest.
func (e *entry) shownKnob(k Knob) Knob {
	if k.Source != fromDefault && k.Source != "" && e.hides(k.Path) {
		k.Value = json.RawMessage(hiddenValue)
	}
	return k
}

// hiddenValue is the placeholder for a secret.
const hiddenValue = `"` + config.Hidden + `"`

// hides reports whether the value at a path of the plugin's config is a secret, by its name or by
// the schema.
func (e *entry) hides(path []string) bool {
	return config.Private(append([]string{"plugins", e.names.place, "config"}, path...), "x") || declaredAt(e.info.Schema, path)
}

func withValue(k dialect.Knob, user, project layer) Knob {
	out := Knob{Knob: k, Value: json.RawMessage("null")}
	if k.Default != nil {
		out.Value, out.Source = k.Default, fromDefault
	}
	for _, l := range []layer{user, project} {
		if v, ok := valueAt(l.table, k.Path); ok {
			if text, err := json.Marshal(v); err == nil {
				out.Value, out.Source = text, l.source
			}
		}
	}
	return out
}

// SetKnob writes the value of a plugin's knob into config.toml, or into the project's file. Every
// other byte stays. A running plugin is restarted between two calls. Changes that follow each other
// quickly cause one restart.
func (h *Host) SetKnob(ctx context.Context, plugin string, s KnobSetting) (*KnobChange, error) {
	if h.isClosed() {
		return nil, ErrClosed
	}
	e, err := h.find(plugin)
	if err != nil {
		return nil, err
	}
	knob, err := e.knob(s.Key)
	if err != nil {
		return nil, err
	}
	if err := h.checkKnob(e, knob, s); err != nil {
		return nil, err
	}
	done, err := h.writeKnob(e, knob, s)
	if err != nil {
		return nil, err
	}
	change := &KnobChange{Plugin: e.info.Name, File: done.Path, Backup: done.Backup, Changed: done.Changed}
	if done.Changed {
		change.Restarted, err = h.Reconfigure(ctx, plugin)
	}
	user, project := h.layersInUse(e)
	change.Knob = e.shownKnob(withValue(knob, user, project))
	if err != nil {
		return change, fmt.Errorf("%s was written: %w", done.Path, err)
	}
	return change, nil
}

func (e *entry) knob(key string) (dialect.Knob, error) {
	var keys []string
	for _, k := range e.info.Knobs {
		if k.Key == key {
			return k, nil
		}
		keys = append(keys, k.Key)
	}
	return dialect.Knob{}, dialect.WithFix(fmt.Errorf("plugin %s: knob %s: %w", e.info.Name, key, ErrNotFound), dialect.Meant(key, keys))
}

// checkKnob returns an error if the value does not fit. It ignores other values of the config that
// do not fit.
func (h *Host) checkKnob(e *entry, k dialect.Knob, s KnobSetting) error {
	if string(s.Value) == hiddenValue && e.hides(k.Path) {
		return fmt.Errorf("plugin %s: knob %s: %s stands for a value that is not shown: %w", e.info.Name, k.Key, s.Value, ErrBadValue)
	}
	checker, ok := e.dialect.(dialect.SettingsChecker)
	if !ok || s.removes() {
		return nil // without a value, the default applies
	}
	settings, err := h.setup().settings(e.names, h.roster().names)
	if err != nil {
		return err
	}
	if settings.Config, err = h.configWith(e.names, k, s); err != nil {
		return err
	}
	faults, ok := errors.AsType[*dialect.ConfigError](checker.CheckSettings(e.found, settings))
	if !ok {
		return nil
	}
	for _, f := range faults.Faults {
		at := names(f.Path)
		if n := min(len(at), len(k.Path)); slices.Equal(at[:n], k.Path[:n]) {
			return fmt.Errorf("plugin %s: knob %s: %s: %w", e.info.Name, k.Key, f.Message, ErrBadValue)
		}
	}
	return nil
}

// configWith returns a plugin's config as it would be with the setting. The setting applies even if
// the project's file has another value, because that value may be removed later.
func (h *Host) configWith(b pluginNames, k dialect.Knob, s KnobSetting) (json.RawMessage, error) {
	text, err := h.setup().configs.Load().config(b)
	if err != nil {
		return nil, err
	}
	if text, err = editfile.SetJSON(text, k.Path, s.Value); err != nil {
		return nil, fmt.Errorf("knob %s: %w", k.Key, err)
	}
	return text, nil
}

func (s KnobSetting) removes() bool { return rawjson.Missing(s.Value) }

// writeKnob writes the setting into the file.
func (h *Host) writeKnob(e *entry, k dialect.Knob, s KnobSetting) (editfile.Result, error) {
	user, project := h.setup().configs.Load().layers(e.names)
	file := h.setup().dirs.ConfigFile
	place := editfile.Place{Dir: filepath.Dir(file), Name: filepath.Base(file), Mode: 0o600}
	key := h.sectionKey(e, user)
	parse := func(text []byte) error { _, err := config.ParseConfig(file, text); return err }
	if s.Project {
		file = h.setup().projectFile()
		if sameFile(file, h.setup().dirs.ConfigFile) {
			return editfile.Result{}, fmt.Errorf("%s is your own configuration: a project needs its own directory", file)
		}
		place = editfile.Place{Dir: h.setup().projectRoot, Name: config.ProjectFile, Mode: 0o644}
		key = h.sectionKey(e, project)
		parse = func(text []byte) error { _, err := config.ParseProject(file, text); return err }
	}
	path := append([]string{"plugins", key, "config"}, k.Path...)
	return editfile.Edit(place, func(old []byte) (text []byte, err error) {
		if err := parse(old); err != nil { // with its place, which the editor does not know
			return nil, err
		}
		if s.removes() {
			text, err = editfile.RemoveTOML(old, path)
		} else {
			text, err = editfile.SetTOML(old, path, s.Value)
		}
		if err != nil {
			return nil, err
		}
		return text, parse(text)
	})
}

// sectionKey returns the name under which the file has the plugin's config. If it has none, that is
// the name of the plugin's place, with the dialect in front if a plugin of another dialect has the
// same name.
func (h *Host) sectionKey(e *entry, l layer) string {
	switch {
	case l.table != nil:
		return l.key
	case len(h.roster().names.placed(e.names.place)) > 1:
		return e.names.dialect + ":" + e.names.place
	}
	return e.names.place
}
