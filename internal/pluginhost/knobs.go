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
)

// A Knob is a setting that a plugin lets a person turn, and how it stands.
type Knob struct {
	dialect.Knob
	Value  json.RawMessage `json:"value"`  // null: it has none
	Source string          `json:"source"` // default | user | project; "" where it has no value
}

// ErrBadValue is wrapped by the error of a value that a knob, or the plugin's config, cannot have.
var ErrBadValue = errors.New("the knob cannot have this value")

// A KnobSetting says what a knob is to be set to.
type KnobSetting struct {
	Key     string
	Value   json.RawMessage // null, or nothing: the knob has no value in this file any more
	Project bool            // in the project's file instead of the user's
}

// A KnobChange is what became of a setting.
type KnobChange struct {
	Plugin    string `json:"plugin"`
	Knob      Knob   `json:"knob"`      // as it stands now; the project's value counts where both files have one
	File      string `json:"file"`      // where it was written
	Backup    string `json:"backup"`    // the file as it was before; "": it did not change, or was not there
	Changed   bool   `json:"changed"`   // the file was
	Restarted bool   `json:"restarted"` // the plugin was, and works with it
}

// knobs are a plugin's knobs and how they stand.
func (h *Host) knobs(e *entry) []Knob {
	user, project := h.setup().given.Load().layers(e.names)
	out := make([]Knob, 0, len(e.info.Knobs))
	for _, k := range e.info.Knobs {
		out = append(out, e.shownKnob(standing(k, user, project)))
	}
	return out
}

// shownKnob is a knob without its value, where that is a secret. The default is in the manifest for
// all to read.
func (e *entry) shownKnob(k Knob) Knob {
	if k.Source != fromDefault && k.Source != "" && e.hides(k.Path) {
		k.Value = json.RawMessage(hiddenValue)
	}
	return k
}

// hiddenValue is what is shown of a secret.
const hiddenValue = `"` + config.Hidden + `"`

// hides tells whether the value at a path of the plugin's config is a secret, by its name or by the
// schema.
func (e *entry) hides(path []string) bool {
	return config.Private(append([]string{"plugins", e.names.place, "config"}, path...), "x") || declaredAt(e.info.Schema, path)
}

func standing(k dialect.Knob, user, project layer) Knob {
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

// SetKnob writes the value of a plugin's knob into config.toml, or the project's, where every other
// byte stays. A plugin that is running is restarted between two calls; changes within a short while
// are taken together.
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
	user, project := h.setup().given.Load().layers(e.names)
	change.Knob = e.shownKnob(standing(knob, user, project))
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

// checkKnob refuses a value that does not fit. What is wrong with other values of the config is not
// this one's fault.
func (h *Host) checkKnob(e *entry, k dialect.Knob, s KnobSetting) error {
	if string(s.Value) == hiddenValue && e.hides(k.Path) {
		return fmt.Errorf("plugin %s: knob %s: %s stands for a value that is not shown: %w", e.info.Name, k.Key, s.Value, ErrBadValue)
	}
	checker, ok := e.dialect.(dialect.SettingsChecker)
	if !ok || s.removes() {
		return nil // without a value there is the default
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

// configWith is a plugin's config with a setting. The setting counts here even where the project's
// file has another value, which may go tomorrow.
func (h *Host) configWith(b bearer, k dialect.Knob, s KnobSetting) (json.RawMessage, error) {
	text, err := h.setup().given.Load().config(b)
	if err != nil {
		return nil, err
	}
	if text, err = editfile.SetJSON(text, k.Path, s.Value); err != nil {
		return nil, fmt.Errorf("knob %s: %w", k.Key, err)
	}
	return text, nil
}

func (s KnobSetting) removes() bool { return len(s.Value) == 0 || string(s.Value) == "null" }

// writeKnob changes the file.
func (h *Host) writeKnob(e *entry, k dialect.Knob, s KnobSetting) (editfile.Result, error) {
	user, project := h.setup().given.Load().layers(e.names)
	file := h.setup().dirs.ConfigFile
	place := editfile.Place{Dir: filepath.Dir(file), Name: filepath.Base(file), Mode: 0o600}
	key := h.sectionKey(e, user)
	parse := func(text []byte) error { _, err := config.ParseConfig(file, text); return err }
	if s.Project {
		file = h.setup().projectFile()
		if sameFile(file, h.setup().dirs.ConfigFile) {
			return editfile.Result{}, fmt.Errorf("%s is your own configuration: a project needs a directory of its own", file)
		}
		place = editfile.Place{Dir: h.setup().projectRoot, Name: config.ProjectFile, Mode: 0o644}
		key = h.sectionKey(e, project)
		parse = func(text []byte) error { _, err := config.ParseProject(file, text); return err }
	}
	path := append([]string{"plugins", key, "config"}, k.Path...)
	return editfile.Edit(place, func(old []byte) (text []byte, err error) {
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

// sectionKey is the name under which a plugin's config stands, or is to stand: that of its place,
// with the dialect where a plugin of another dialect has the same.
func (h *Host) sectionKey(e *entry, l layer) string {
	switch {
	case l.table != nil:
		return l.key
	case len(h.roster().names.placed(e.names.place)) > 1:
		return e.names.dialect + ":" + e.names.place
	}
	return e.names.place
}
