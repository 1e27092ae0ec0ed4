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

// What a [ConfigChange] can set. What plugins are given (capabilities, limits, variables), and
// everything that is not about plugins, is for the person who writes the file.
const (
	SetEnabled  = "enabled"    // value: true or false
	SetPriority = "priority"   // value: a number; null: the plugin's own
	SetConfig   = "config"     // value: an object, the whole of the user's config for the plugin
	SetConnect  = "connect"    // Hook, at Point
	Disconnect  = "disconnect" // the same, taken out
)

// A ConfigChange is one thing to be said otherwise in config.toml.
type ConfigChange struct {
	Set    string
	Plugin string
	Value  json.RawMessage
	Hook   string
	Point  string
}

// A ConfigEdit is the configuration file before and after some changes.
type ConfigEdit struct {
	File    string
	Old     []byte
	New     []byte
	Backup  string // where the old text is kept; "": nothing was written
	Written bool
}

// Base stands for the text that a change was made for.
func (e *ConfigEdit) Base() string { return textBase(e.Old) }

func textBase(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ErrBadChange is wrapped by the error of a change that the configuration, or the plugin, cannot
// have.
var ErrBadChange = errors.New("the change cannot be made")

// ErrBase is returned where the file is another than the one that changes were made for.
var ErrBase = errors.New("the file was changed since: look at the change again")

// PreviewConfig is what the configuration file would become. It writes nothing.
func (h *Host) PreviewConfig(changes []ConfigChange) (*ConfigEdit, error) {
	file := h.setup().dirs.ConfigFile
	old, err := plainfile.Read(file, maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text, err := h.changedText(old, changes)
	return &ConfigEdit{File: file, Old: old, New: text}, err
}

// ChangeConfig writes changes into config.toml, all of them or none, where every other byte stays.
// It does not reload the host. base is that of a preview, whose text must still be there; "": any
// will do.
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

// Undo puts the text back that was there before a change, unless somebody has changed the file
// since.
func (e *ConfigEdit) Undo() error {
	if !e.Written {
		return nil
	}
	_, err := editfile.Edit(configPlace(e.File), func(now []byte) ([]byte, error) {
		if !bytes.Equal(now, e.New) {
			return nil, ErrBase
		}
		return e.Old, nil
	})
	return err
}

// mostValues is how many values of the file can be changed at once: for each of them the whole file
// is read again.
const mostValues = 256

// maxConfig bounds the file, as editfile does.
const maxConfig = 1 << 20

func configPlace(file string) editfile.Place {
	return editfile.Place{Dir: filepath.Dir(file), Name: filepath.Base(file), Mode: 0o600}
}

// changedText is a text with changes, one after the other. Each must leave a text that can be read.
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
		err = fmt.Errorf("%.80q cannot be set: one of enabled, priority, config, connect, disconnect can", c.Set)
	}
	return edit.text, badChange(err)
}

// A configEdit is one change under way.
type configEdit struct {
	host  *Host
	entry *entry
	text  []byte
	room  *int           // how many values may still be changed
	read  *config.Config // the text, read
	own   sections       // what it says of the plugin
}

// set writes a value into a table of the plugin's; null takes it out.
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

// enable writes `enabled`. One table that disables a plugin is enough, so all of them are changed
// to enable it.
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

// maxPriority is more than any protocol knows.
const maxPriority = 1_000_000

// prioritise writes `priority` where it counts.
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

// connect adds a [[connect]] table, where there is none like it.
func (c *configEdit) connect(w ConfigChange) error {
	for _, there := range c.read.Connect {
		if c.entry.names.bears(there.Plugin) && there.Hook == w.Hook && there.Point == w.Point {
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
		return c.entry.names.bears(plugin) && table["hook"] == w.Hook && table["point"] == w.Point
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

// checkConfig refuses a config that does not fit the plugin's schema. What is missing among its
// secrets is not its fault.
func (c *configEdit) checkConfig(user map[string]any) error {
	checker, ok := c.entry.dialect.(dialect.SettingsChecker)
	if !ok {
		return nil
	}
	settings, err := c.host.setup().settings(c.entry.names, c.host.roster().names)
	if err != nil {
		return err
	}
	_, project := c.host.setup().given.Load().layers(c.entry.names)
	if settings.Config, err = json.Marshal(config.Over(user, project.table)); err != nil {
		return err
	}
	faults, ok := errors.AsType[*dialect.ConfigError](checker.CheckSettings(c.entry.found, settings))
	if !ok || len(faults.Faults) == 0 {
		return nil
	}
	return &dialect.ConfigError{Faults: faults.Faults}
}
