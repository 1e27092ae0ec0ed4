package pluginhost

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// The values of [ConfigChange.Set]. Only the user, in an editor, changes the grants of plugins
// (capabilities, limits, variables) and everything that is not about plugins.
const (
	SetEnabled  = "enabled"    // Value: true or false
	SetPriority = "priority"   // Value: a number; null: the plugin's own
	SetConfig   = "config"     // Value: an object, the user's whole config for the plugin
	SetConnect  = "connect"    // connects Hook to Point
	Disconnect  = "disconnect" // removes the connection of Hook to Point
)

// A ConfigChange is one change of config.toml.
type ConfigChange struct {
	Set    string
	Plugin string
	Value  json.RawMessage
	Hook   string
	Point  string
}

// A ConfigEdit holds the configuration file before and after some changes.
type ConfigEdit struct {
	File    string
	Old     []byte
	New     []byte
	Backup  string // the file with the old text; "": nothing was written, or there was no file before
	Written bool
}

// Base returns a checksum of the old text. [Host.ChangeConfig] uses it to notice that the file was
// changed in between.
func (e *ConfigEdit) Base() string { return textBase(e.Old) }

func textBase(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ErrBadChange is wrapped by the error of a change that the configuration or the plugin does not
// allow.
var ErrBadChange = errors.New("the change cannot be made")

// ErrBase is returned if the file has changed since the preview.
var ErrBase = errors.New("the file has changed since the preview: preview the change again")

// PreviewConfig returns the text that the configuration file would have after the changes. It
// writes nothing.
func (h *Host) PreviewConfig(changes []ConfigChange) (*ConfigEdit, error) {
	file := h.setup().dirs.ConfigFile
	old, err := plainfile.Read(file, maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text, err := h.changedText(old, changes)
	return &ConfigEdit{File: file, Old: old, New: text}, err
}

// ChangeConfig writes the changes into config.toml: all of them or none. Every other byte stays. It
// does not reload the host. If base is not "", it must be the Base of a preview, and the file must
// not have changed since.
func (h *Host) ChangeConfig(changes []ConfigChange, base string) (*ConfigEdit, error) {
	done := &ConfigEdit{File: h.setup().dirs.ConfigFile}
	result, err := editfile.Edit(configPlace(done.File), func(old []byte) (text []byte, err error) {
		if done.Old = old; base != "" && base != done.Base() {
			return nil, ErrBase
		}
		done.New, err = h.changedText(bytes.Clone(old), changes)
		return done.New, err
	})
	done.Backup, done.Written = result.Backup, result.Changed
	return done, err
}

// ErrChangedAgain is returned by [ConfigEdit.Undo] if the file is no longer the one that was
// written.
var ErrChangedAgain = errors.New("the file has changed again since then")

// Undo restores the text from before the change. It returns [ErrChangedAgain] if the file has
// changed since.
func (e *ConfigEdit) Undo() error {
	if !e.Written {
		return nil
	}
	_, err := editfile.Edit(configPlace(e.File), func(now []byte) ([]byte, error) {
		if !bytes.Equal(now, e.New) {
			return nil, ErrChangedAgain
		}
		return e.Old, nil
	})
	return err
}

// mostValues limits how many values of the file are changed at once, because each change parses the
// whole file again.
const mostValues = 256

// maxConfig limits the size of the file, as editfile does.
const maxConfig = 1 << 20

func configPlace(file string) editfile.Place {
	return editfile.Place{Dir: filepath.Dir(file), Name: filepath.Base(file), Mode: 0o600}
}

// changedText applies the changes to text, one after another. The text must parse after each
// change.
func (h *Host) changedText(text []byte, changes []ConfigChange) ([]byte, error) {
	room := mostValues
	for i, c := range changes {
		next, err := h.changedBy(text, c, &room)
		if err != nil {
			return nil, fmt.Errorf("changes[%d]: %w", i, err)
		}
		text = next
	}
	_, err := config.ParseConfig(h.setup().dirs.ConfigFile, text)
	if text == nil {
		text = []byte{}
	}
	return text, badChange(err)
}

func badChange(err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrAmbiguous) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBadChange, err)
}

func (h *Host) changedBy(text []byte, c ConfigChange, room *int) ([]byte, error) {
	e, err := h.find(c.Plugin)
	if err != nil {
		return nil, err
	}
	read, err := config.ParseConfig(h.setup().dirs.ConfigFile, text)
	if err != nil {
		return nil, badChange(err)
	}
	edit := configEdit{host: h, entry: e, text: text, room: room, read: read, own: sectionsIn(read, e.names, h.roster().names)}
	switch c.Set {
	case SetEnabled:
		err = edit.enable(c.Value)
	case SetPriority:
		err = edit.prioritise(c.Value)
	case SetConfig:
		err = edit.configure(c.Value)
	case SetConnect:
		err = edit.connect(c)
	case Disconnect:
		err = edit.disconnect(c)
	default:
		err = fmt.Errorf("%.80q cannot be set; these can be: enabled, priority, config, connect, disconnect", c.Set)
	}
	return edit.text, badChange(err)
}

// A configEdit applies one change.
type configEdit struct {
	host  *Host
	entry *entry
	text  []byte
	room  *int           // how many more values may be changed
	read  *config.Config // the parsed text
	own   sections       // the tables about the plugin
}

// set writes a value into a table of the plugin, or removes it if value is null.
func (c *configEdit) set(section string, value json.RawMessage, path ...string) (err error) {
	if *c.room--; *c.room < 0 {
		return dialect.WithFix(fmt.Errorf("more than %d values would change at once", mostValues), "change the file by hand")
	}
	full := append([]string{"plugins", section}, path...)
	if string(value) == "null" {
		c.text, err = editfile.RemoveTOML(c.text, full)
		return err
	}
	c.text, err = editfile.SetTOML(c.text, full, value)
	return err
}

// enable writes `enabled`. A plugin is disabled if any of its tables says so. To enable it, enable
// changes all tables that say so.
func (c *configEdit) enable(value json.RawMessage) error {
	var on bool
	if err := json.Unmarshal(value, &on); err != nil || string(value) == "null" {
		return errors.New("enabled: want true or false")
	}
	if _, off := c.own.disabled(); off != on {
		return nil
	}
	keys := []string{c.host.sectionKey(c.entry, layer{})}
	if on {
		keys = nil
		for _, s := range c.own {
			if !s.table.On() {
				keys = append(keys, s.key)
			}
		}
	}
	for _, key := range keys {
		if err := c.set(key, value, "enabled"); err != nil {
			return err
		}
	}
	return nil
}

// maxPriority is larger than the priorities of all protocols.
const maxPriority = 1_000_000

// prioritise writes `priority` into the table whose priority is in force.
func (c *configEdit) prioritise(value json.RawMessage) error {
	var n int
	if err := json.Unmarshal(value, &n); err != nil || n > maxPriority || n < -maxPriority {
		return fmt.Errorf("priority: want a whole number between -%d and %d", maxPriority, maxPriority)
	}
	key := c.host.sectionKey(c.entry, layer{})
	for _, s := range c.own {
		if s.table.Priority != nil {
			key = s.key
			break
		}
	}
	return c.set(key, value, "priority")
}

// connect adds a [[connect]] table, unless there is an equal one.
func (c *configEdit) connect(w ConfigChange) error {
	for _, there := range c.read.Connect {
		if c.entry.names.hasName(there.Plugin) && there.Hook == w.Hook && there.Point == w.Point {
			return nil
		}
	}
	key := c.host.sectionKey(c.entry, layer{})
	if _, err := c.host.connection(c.host.roster(), config.Connect{Plugin: key, Hook: w.Hook, Point: w.Point}); err != nil {
		return err
	}
	var err error
	c.text, err = editfile.AddTOMLTable(c.text, "connect", []editfile.Field{
		{Key: "plugin", Value: quoted(key)}, {Key: "hook", Value: quoted(w.Hook)}, {Key: "point", Value: quoted(w.Point)}})
	return err
}

func (c *configEdit) disconnect(w ConfigChange) error {
	next, err := editfile.DropTOMLTables(c.text, "connect", func(table map[string]any) bool {
		plugin, _ := table["plugin"].(string)
		return c.entry.names.hasName(plugin) && table["hook"] == w.Hook && table["point"] == w.Point
	})
	if err == nil && bytes.Equal(next, c.text) {
		err = fmt.Errorf("plugin %s: no [[connect]] has its hook %.80q at %.80q", c.entry.info.Name, w.Hook, w.Point)
	}
	c.text = next
	return err
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a text can always be encoded
	return raw
}

// checkConfig returns an error if the config does not fit the plugin's schema. It ignores missing
// secrets, which are in another file.
func (c *configEdit) checkConfig(user map[string]any) error {
	checker, ok := c.entry.dialect.(dialect.SettingsChecker)
	if !ok {
		return nil
	}
	settings, err := c.host.setup().settings(c.entry.names, c.host.roster().names)
	if err != nil {
		return err
	}
	_, project := c.host.setup().configs.Load().layers(c.entry.names)
	if settings.Config, err = json.Marshal(config.Over(user, project.table)); err != nil {
		return err
	}
	faults, ok := errors.AsType[*dialect.ConfigError](checker.CheckSettings(c.entry.found, settings))
	if !ok || len(faults.Faults) == 0 {
		return nil
	}
	return &dialect.ConfigError{Faults: faults.Faults}
}
