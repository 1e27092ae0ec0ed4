package dotagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/rawjson"
)

// A manifest is what a plugin says of itself when it is asked for info.
type manifest struct {
	dialect.Info
	platforms []string
	schema    *schema // nil where there is none, or none that can be used
	warnings  []string
}

// parseInfo reads the answer to info. The rulings: "only name is required;
// version, kinds, platforms, schema may be missing. An unknown kind makes the
// plugin broken." file is the name that the plugin's file has.
func parseInfo(stdout []byte, file string) (*manifest, error) {
	o, err := rawjson.Parse(stdout)
	if err != nil {
		return nil, fmt.Errorf("info is not a JSON object: %q", cut(stdout))
	}
	m := &manifest{Info: dialect.Info{Name: file, Priority: hook.DefaultPriority}}
	if err := m.readName(o.Get("name")); err != nil {
		return nil, err
	}
	m.readVersion(o.Get("version"))
	if err := errors.Join(m.readKinds(o.Get("kinds")), readList("platforms", o.Get("platforms"), &m.platforms)); err != nil {
		return nil, err
	}
	m.readSchema(o.Get("schema"))
	return m, nil
}

// readName: jobs name a plugin by its file, "dotagent searches for the binary",
// so that name stays its name whatever it calls itself.
func (m *manifest) readName(raw json.RawMessage) error {
	name, ok := rawjson.Unquote(raw)
	switch {
	case !ok || name == "":
		return errors.New("info has no name")
	case name != m.Name:
		m.warn("it calls itself %q, its file %q: the file's name counts", cut([]byte(name)), m.Name)
	}
	return nil
}

func (m *manifest) readVersion(raw json.RawMessage) {
	version, ok := rawjson.Unquote(raw)
	if !ok && !missing(raw) {
		m.warn("the version is passed over: it is not a string")
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
	// In the order of a job, each once.
	m.Kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !slices.Contains(m.Kinds, k) })
	m.Hooks = m.Kinds
	if len(m.Kinds) == 0 {
		m.warn("it says nothing of its kinds, so it is asked only where a job or a connection names it")
	}
	return nil
}

// readSchema: a schema that cannot be used is the plugin's fault and not worth
// its loss: validate, which knows more, is asked all the same.
func (m *manifest) readSchema(raw json.RawMessage) {
	if missing(raw) {
		return
	}
	s, err := compileSchema(raw)
	if err != nil {
		m.warn("its schema is passed over: %v", err)
	}
	m.schema = s
}

func (m *manifest) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

// supported: seed 000, "platforms … empty means cross-platform". The rulings:
// "platforms that exclude this OS: plugin unsupported".
func (m *manifest) supported(system string) error {
	names := []string{system}
	if system == "darwin" {
		names = append(names, "macos") // what Rust calls it
	}
	fits := func(p string) bool { return slices.Contains(names, p) }
	if len(m.platforms) == 0 || slices.ContainsFunc(m.platforms, fits) {
		return nil
	}
	return fmt.Errorf("%w on %s: it is for %s", dialect.ErrUnsupported, system, cut([]byte(strings.Join(m.platforms, ", "))))
}

// readList reads a list of strings that may be missing.
func readList(field string, raw json.RawMessage, into *[]string) error {
	if missing(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("info: %s is not a list of strings: %q", field, cut(raw))
	}
	return nil
}

func missing(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// cut keeps a foreign text from filling the screen.
func cut(text []byte) string {
	const most = 200 // enough to recognise it by
	s := strings.TrimSpace(strings.ToValidUTF8(string(text[:min(len(text), most)]), "\uFFFD"))
	if len(text) > most {
		s += "…"
	}
	return s
}
