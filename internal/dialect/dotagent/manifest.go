package dotagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A manifest is a plugin's answer to info.
type manifest struct {
	dialect.Info
	platforms []string
	schema    *schema.Schema // nil: the plugin has none, or an unusable one
	warnings  []string
	unusable  []string // declarations that cannot be used
}

// parseInfo parses the answer to info: docs/protocols/dotagent.md, rows D26 and D27. file is the
// <name> in the name of the plugin's file.
func parseInfo(stdout []byte, file string) (*manifest, error) {
	o, err := rawjson.ParseForeign(stdout)
	if err != nil {
		return nil, fmt.Errorf("info %w", unread(stdout, err))
	}
	m := &manifest{Info: dialect.Info{Name: file, Priority: hook.DefaultPriority}}
	if err := m.readName(o.Get("name")); err != nil {
		if reason := complaint(stdout); reason != "" {
			err = fmt.Errorf("%w: it says %q", err, cut([]byte(reason)))
		}
		return nil, err
	}
	m.readVersion(o.Get("version"))
	if err := errors.Join(m.readKinds(o.Get("kinds")), readList("platforms", o.Get("platforms"), &m.platforms)); err != nil {
		return nil, err
	}
	m.readSchema(o.Get("schema"))
	m.warnOfMisspelt(o)
	return m, nil
}

// readName checks the name in info. Jobs name a plugin by its file, so the file's name counts:
// docs/protocols/dotagent.md, row D24.
func (m *manifest) readName(raw json.RawMessage) error {
	name, ok := rawjson.Unquote(raw)
	switch {
	case !ok && !rawjson.Missing(raw):
		return fmt.Errorf("info: name is not a string: %s", shown(raw))
	case name == "":
		return errors.New("info has no name")
	case name != m.Name:
		m.Called = name
		m.warn("it calls itself %q, but its file is called %q: the file's name counts", cut([]byte(name)), m.Name)
	}
	return nil
}

func (m *manifest) readVersion(raw json.RawMessage) {
	version, ok := rawjson.Unquote(raw)
	if !ok && !rawjson.Missing(raw) {
		m.warn("the version is ignored: it is not a string")
	}
	m.Version = version
}

func (m *manifest) readKinds(raw json.RawMessage) error {
	if err := readList("kinds", raw, &m.Kinds); err != nil {
		return err
	}
	for _, k := range m.Kinds {
		if !slices.Contains(kinds, k) {
			return fmt.Errorf("info has an unknown kind %q; %s", cut([]byte(k)), nearest.Suggest(k, kinds))
		}
	}
	// In the order of a job, without repetitions.
	m.Kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !slices.Contains(m.Kinds, k) })
	m.Hooks = m.Kinds
	return nil
}

// infoKeys are the fields of the answer to info.
var infoKeys = []string{"name", "version", "kinds", "platforms", "schema"}

// warnOfMisspelt warns of unknown fields that resemble a field which the answer lacks. Other
// unknown fields are ignored.
func (m *manifest) warnOfMisspelt(o rawjson.Object) {
	for key, meant := range Misspelt(o) {
		m.warn("the field %q is ignored: did you mean %q?", cut([]byte(key)), meant)
	}
}

// Misspelt returns the unknown fields of an answer to info that resemble a field which the answer
// lacks, each with that field.
func Misspelt(o rawjson.Object) iter.Seq2[string, string] {
	lacks := slices.DeleteFunc(slices.Clone(infoKeys), func(k string) bool { return o.Get(k) != nil })
	return func(yield func(key, meant string) bool) {
		for _, f := range o {
			if meant := nearest.Word(f.Name, lacks); meant != "" && !slices.Contains(infoKeys, f.Name) && !yield(f.Name, meant) {
				return
			}
		}
	}
}

// readSchema compiles the schema. A schema that cannot be used does not break the plugin: validate
// still checks the config.
func (m *manifest) readSchema(raw json.RawMessage) {
	if rawjson.Missing(raw) {
		return
	}
	s, faults := schema.Compile(raw)
	if len(faults) > 0 {
		m.unusable = append(m.unusable, "its schema is ignored: "+inShort(faults, schema.Fault.String))
	}
	if unchecked := s.Unchecked(); len(unchecked) > 0 {
		m.warn("in its schema: %s", inShort(unchecked, schema.Fault.String))
	}
	m.schema = s
}

// mostConfig limits a config that is checked against a schema. Usual ones have a few lines.
const mostConfig = 256 << 10

// misfit lists everything in a config that the schema does not allow.
func (m *manifest) misfit(config json.RawMessage) error {
	if m.schema != nil && len(config) > mostConfig {
		return fmt.Errorf("it has over %d KiB", mostConfig>>10)
	}
	if errs := m.schema.Check(config); len(errs) > 0 {
		return errors.New(inShort(errs, func(e schema.Error) string { return e.In("config") }))
	}
	return nil
}

func (m *manifest) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

// supported returns an error if the plugin is not for this system: docs/protocols/dotagent.md, row
// D28.
func (m *manifest) supported(system string) error {
	names := []string{system}
	if system == "darwin" {
		names = append(names, "macos") // Rust's name for it
	}
	fits := func(p string) bool { return slices.Contains(names, p) }
	if len(m.platforms) == 0 || slices.ContainsFunc(m.platforms, fits) {
		return nil
	}
	err := fmt.Errorf("%w on %s: it is for %s", dialect.ErrUnsupported, system, cut([]byte(strings.Join(m.platforms, ", "))))
	if slices.ContainsFunc(m.platforms, func(p string) bool { return fits(strings.ToLower(p)) }) {
		return dialect.WithFix(err, "let the plugin write its platforms in lower case: "+system)
	}
	return err
}

// readList reads a list of strings that may be missing.
func readList(field string, raw json.RawMessage, into *[]string) error {
	if rawjson.Missing(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("info: %s is not a list of strings: %s", field, shown(raw))
	}
	return nil
}

// inShort joins the faults of a schema or a config to one line.
func inShort[T any](all []T, text func(T) string) string {
	const most = 20 // more than anyone reads
	var out []string
	for _, one := range all[:min(len(all), most)] {
		out = append(out, cut([]byte(text(one))))
	}
	if more := len(all) - most; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}

// shown returns a JSON value of a plugin for messages, on one line.
func shown(raw json.RawMessage) string { return cut(rawjson.Clean(raw)) }

// cut shortens text of a plugin for messages.
func cut(text []byte) string {
	return excerpt.Of(bytes.TrimSpace(text), 200) // enough to recognise it
}
