package pluginhost

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A pluginConfigs holds the files from which the config of plugins comes: the user's, and the
// project's, whose values come first. [Host.Reconfigure] reads the config of plugins again, and
// nothing else of the user's file. The rest is read when the host is opened, and by [Host.Reload].
type pluginConfigs struct {
	user    *config.Config
	project *config.Project
	unread  error // why the project's file could not be read again; nil: it could
}

// loadConfigs reads the project's file and combines it with the user's.
func (s *setup) loadConfigs(user *config.Config) (*pluginConfigs, error) {
	g := &pluginConfigs{user: user, project: &config.Project{}}
	if s.own() || sameFile(s.projectFile(), s.dirs.ConfigFile) { // $PATCHBAY_HOME may be the .patchbay of the home directory
		return g, nil
	}
	if !projectfiles.In(s.dirs).ReadsConfig(s.projectRoot) {
		return g, nil // it belongs to another user: examineProject reports it
	}
	project, err := config.LoadProject(s.projectRoot)
	if before := s.configs.Load(); err != nil && s.guest && before != nil {
		s.Logger.Warn(projectStays, "err", err, "project", s.projectRoot)
		project, g.unread, err = before.project, err, nil
	}
	g.project = project
	return g, err
}

// projectStays is the warning about a project's file that could be read before and cannot be read
// now. The daemon keeps the config that it read before, so that other changes, such as those of the
// user's own file, still apply in that project.
const projectStays = "the project's config cannot be read again, and stays as it was"

func (s *setup) projectFile() string {
	return filepath.Join(s.projectRoot, filepath.FromSlash(config.ProjectFile))
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return a == b
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// A layer is the config that one file has for a plugin.
type layer struct {
	key    string         // the plugin's name in that file
	table  map[string]any // nil: the file has none
	place  func(message, fix string, path ...any) config.Problem
	file   string
	source string
}

// The sources of a value in a plugin's config.
const (
	fromDefault = "default" // the knob's default
	fromUser    = "user"
	fromProject = "project"
)

// layers returns the user's and the project's config for a plugin.
func (g *pluginConfigs) layers(b pluginNames) (user, project layer) {
	user = layer{key: b.place, place: g.user.Problem, file: g.user.File(), source: fromUser}
	project = layer{key: b.place, place: g.project.Problem, file: g.project.File(), source: fromProject}
	for _, key := range b.keys() {
		if table := g.user.Plugins[key].Config; table != nil && user.table == nil {
			user.key, user.table = key, table
		}
		if table := g.project.Plugins[key]; table != nil && project.table == nil {
			project.key, project.table = key, table
		}
	}
	return user, project
}

// config returns a plugin's config as JSON: the project's values over the user's. It returns nil if
// neither file has any.
func (g *pluginConfigs) config(b pluginNames) (json.RawMessage, error) {
	user, project := g.layers(b)
	table := config.Over(user.table, project.table)
	if table == nil {
		return nil, nil
	}
	text, err := rawjson.Marshal(table)
	if err != nil {
		return nil, fmt.Errorf("config of plugin %s: %w", b.place, err)
	}
	return text, nil
}

// layersInUse returns the user's and the project's config for a plugin, without the config of the
// project if that is dropped.
func (h *Host) layersInUse(e *entry) (user, project layer) {
	user, project = h.setup().configs.Load().layers(e.names)
	if h.unfitProjectConfig(e) != nil {
		project.table = nil
	}
	return user, project
}

// unfitProjectConfig returns why the project's config for one of the user's plugins is dropped, or
// nil. It is dropped if it alone would keep the plugin from starting. Otherwise a project that
// another person wrote could switch off a plugin that guards something.
func (h *Host) unfitProjectConfig(e *entry) error {
	checker, ok := e.dialect.(dialect.SettingsChecker)
	user, project := h.setup().configs.Load().layers(e.names)
	if !ok || project.table == nil || e.found.Project != "" {
		return nil
	}
	check := func(table map[string]any) error {
		err := checker.CheckSettings(e.found, withConfig(e.settings, table))
		if faults, ok := errors.AsType[*dialect.ConfigError](err); !ok || len(faults.Faults) == 0 {
			return nil
		}
		return err
	}
	err := check(config.Over(user.table, project.table))
	if err != nil && check(user.table) != nil {
		return nil // the user's config does not fit either: the plugin's error says so
	}
	return err
}

// withConfig returns settings with another config.
func withConfig(s dialect.Settings, table map[string]any) dialect.Settings {
	if s.Config = nil; table != nil {
		s.Config, _ = rawjson.Marshal(table) // it was decoded from a file, so it can be encoded
	}
	return s
}

// fitting returns settings without the project's config for a plugin, if that is dropped.
func (h *Host) fitting(e *entry, s dialect.Settings) dialect.Settings {
	p, left := h.leftOutConfig(e)
	if !left {
		return s
	}
	h.setup().Logger.Warn(p.Message, "plugin", e.names.shown(), "file", p.Path, "fix", p.Fix, dialect.FindingKey, true)
	user, _ := h.layersInUse(e)
	return withConfig(s, user.table)
}

// leftOutConfig returns the problem with the project's config for a plugin, if that is dropped.
func (h *Host) leftOutConfig(e *entry) (p dialect.Problem, left bool) {
	err := h.unfitProjectConfig(e)
	if err == nil {
		return p, false
	}
	p = dialect.Problem{Path: h.setup().configs.Load().project.File(), Fix: "write values there that fit, or take them out",
		Message: "the project's config for it is left out: " + err.Error()}
	for _, at := range problemsOf(h.setup().withPlaces(e.names, err)) {
		if at.Path == p.Path && p.Line == 0 {
			p.Line, p.Column = at.Line, at.Column
		}
	}
	return p, true
}

// valueAt follows a path of names. ok is false if there is no value.
func valueAt(table map[string]any, path []string) (value any, ok bool) {
	for i, name := range path {
		if value, ok = table[name]; !ok || i == len(path)-1 {
			return value, ok
		}
		if table, ok = value.(map[string]any); !ok {
			return nil, false
		}
	}
	return nil, false
}

// withPlaces adds the file, line and column of each bad value to the error of a config that does
// not fit.
func (s *setup) withPlaces(b pluginNames, err error) error {
	faults, ok := errors.AsType[*dialect.ConfigError](err)
	if !ok {
		return err
	}
	user, project := s.configs.Load().layers(b)
	out := &configError{error: err}
	for _, f := range faults.Faults {
		from := user
		if _, ok := valueAt(project.table, names(f.Path)); ok || user.table == nil && project.table != nil {
			from = project
		}
		p := from.place(f.Message, "", append([]any{"plugins", from.key, "config"}, f.Path...)...)
		if from.table == nil && strings.HasSuffix(f.Message, isRequired) { // the position would be that of another table
			p.Line, p.Column, p.File = 0, 0, cmp.Or(p.File, s.dirs.ConfigFile)
			p.Fix = fmt.Sprintf("write [%s] and below it a line such as config = { %s = … }", document.KeyPath("plugins", from.key), document.KeyPath(f.Path...))
		}
		out.add(p)
	}
	for _, f := range faults.Secrets {
		key := s.secretsKey(b)
		p := s.secrets.Problem(f.Message, "", append([]any{"plugins", key}, f.Path...)...)
		p.File = cmp.Or(p.File, s.dirs.SecretsFile)
		if !slices.Contains(s.secrets.Plugins(), key) && strings.HasSuffix(f.Message, isRequired) {
			p.Line, p.Column = 0, 0
			p.Fix = fmt.Sprintf("write [%s] and below it %s = …", document.KeyPath("plugins", key), document.KeyPath(f.Path...))
		}
		out.add(p)
	}
	return out
}

// secretsKey returns the plugin's name in the secrets file, or the name to use if it is not there.
func (s *setup) secretsKey(b pluginNames) string {
	for _, key := range b.keys() {
		if slices.Contains(s.secrets.Plugins(), key) {
			return key
		}
	}
	return b.place
}

// isRequired ends the message of package schema about a field that is missing.
const isRequired = "is required"

// add appends one value that does not fit, or is missing.
func (e *configError) add(p config.Problem) {
	fix := "write another value there, or take it out"
	if strings.HasSuffix(p.Message, isRequired) {
		fix = cmp.Or(p.Fix, "write it there; if a key there is misspelt, correct it")
	}
	e.problems = append(e.problems, dialect.Problem{Path: p.File, Line: p.Line, Column: p.Column, Message: p.Key + ": " + p.Message, Fix: fix})
}

// names returns the part of a path before the first index.
func names(path []any) []string {
	var out []string
	for _, step := range path {
		name, ok := step.(string)
		if !ok {
			break
		}
		out = append(out, name)
	}
	return out
}

// A configError is the error of a config that does not fit, with the place of each bad value.
type configError struct {
	error
	problems []dialect.Problem
}

func (e *configError) Unwrap() error { return e.error }

// Problems returns the places of the bad values.
func (e *configError) Problems() []dialect.Problem { return e.problems }

// Error returns one message for each bad value, with its place in front.
func (e *configError) Error() string {
	var lines []string
	for _, p := range e.problems {
		if p.Line > 0 {
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Message))
		} else if p.Path != "" {
			lines = append(lines, p.Path+": "+p.Message)
		}
	}
	if len(lines) == 0 {
		return e.error.Error()
	}
	return strings.Join(lines, "; ")
}

// reload reads the config of plugins again.
func (s *setup) reload() error {
	if s.own() {
		return nil
	}
	user, err := config.Load(s.dirs.ConfigFile)
	if err != nil {
		return err
	}
	g, err := s.loadConfigs(user)
	if err != nil {
		return err
	}
	s.configs.Store(g)
	return nil
}
