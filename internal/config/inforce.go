package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// A Source says where a setting comes from.
type Source string

// The sources. If two have a setting, the later one counts.
const (
	FromDefault     Source = "default"
	FromUser        Source = "user"        // config.toml
	FromProject     Source = "project"     // .patchbay/config.toml of the project
	FromSecrets     Source = "secrets"     // secrets.toml
	FromEnvironment Source = "environment" // an environment variable
	FromFlag        Source = "flag"
)

// A Setting is one value in force, and its source. It never contains a secret.
type Setting struct {
	Key    string `json:"key"`              // such as plugins.notes.timeout
	Value  any    `json:"value"`            // nil: not set, or a secret
	Secret bool   `json:"secret,omitempty"` // it is set, but not shown
	Note   string `json:"note,omitempty"`   // what applies if it is not set, or why it is not used
	Source Source `json:"source"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Name   string `json:"name,omitempty"` // of the variable or flag
}

// Overrides are the settings that replace those of the files, and the project whose file is read.
type Overrides struct {
	Getenv  func(string) string
	Model   string // --model
	Script  string // --script
	Listen  string // --listen
	Project string // the root of the current project; "": none
}

// InForce lists every setting. Settings with a default are always in the list; those of plugins,
// connections and MCP servers only if they are written. A mistake in a file is returned as an
// error, as by [Load].
func InForce(d Dirs, o Overrides) ([]Setting, error) {
	user, err := readTable(d.ConfigFile)
	if err != nil {
		return nil, err
	}
	l := &listing{file: d.ConfigFile, top: user}
	if err := l.sections(d); err != nil {
		return nil, err
	}
	l.override(o)
	project, err := projectTables(d, o.Project)
	if err != nil {
		return nil, err
	}
	l.plugins(project)
	l.lists()
	return l.all, l.secrets(d, o)
}

// readTable returns the top table of a config.toml that [Load] accepts.
func readTable(path string) (*document.Table, error) {
	data, err := plainfile.Read(path, document.MaxSize)
	if err != nil && !isAbsent(path, err) {
		return nil, unreadable("config", path, err)
	}
	if _, err := parseConfig(path, data); err != nil {
		return nil, err
	}
	return document.TOML(path, data)
}

// A listing collects settings.
type listing struct {
	file string
	top  *document.Table
	all  []Setting
}

// sections lists the tables that occur once: the written value of each key, or its default.
func (l *listing) sections(d Dirs) error {
	for _, s := range Sections() {
		if s.List || strings.HasPrefix(s.Name, "plugins.") {
			continue
		}
		table := l.top.Self
		if s.Name != "" {
			table = table.Get(s.Name)
		}
		for _, k := range s.Keys {
			key := strings.TrimPrefix(s.Name+"."+k.Name, ".")
			if v := table.Get(k.Name); v.Present() {
				l.written(key, v)
			} else if err := l.unset(key, k, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// written adds a value of the user's file.
func (l *listing) written(key string, v document.Value) {
	at := v.Position()
	s := Setting{Key: key, Source: FromUser, File: l.file, Line: at.Line, Column: at.Column}
	s.Value, s.Secret = shown(key, v.Plain())
	l.all = append(l.all, s)
}

// unset adds the default of a key.
func (l *listing) unset(key string, k Key, d Dirs) error {
	s := Setting{Key: key, Source: FromDefault, Note: k.Otherwise}
	if k.Default != "" {
		top, err := document.TOML("default", []byte("value = "+k.Default))
		if err != nil {
			return fmt.Errorf("the default of %s: %w", key, err)
		}
		s.Value = top.Self.Get("value").Plain()
	}
	if key == "jobs.dirs" {
		dirs, err := d.JobDirs(Default())
		if err != nil {
			return err
		}
		s.Value, s.Note = dirs, ""
	}
	l.all = append(l.all, s)
	return nil
}

// set replaces a setting by the value of a variable or flag.
func (l *listing) set(key string, value any, source Source, name string) {
	for i := range l.all {
		if l.all[i].Key == key {
			l.all[i] = Setting{Key: key, Value: value, Source: source, Name: name}
		}
	}
}

// get returns the text of a setting, or "" if it is not a text.
func (l *listing) get(key string) string {
	i := slices.IndexFunc(l.all, func(s Setting) bool { return s.Key == key })
	text, _ := l.all[i].Value.(string)
	return text
}

// override applies flags and variables, with the same precedence as Core.openModel of package
// daemon.
func (l *listing) override(o Overrides) {
	source, name, model := FromFlag, "--model", o.Model
	if model == "" {
		source, name, model = FromEnvironment, "PATCHBAY_MODEL", o.Getenv("PATCHBAY_MODEL")
	}
	if provider, which, _ := strings.Cut(strings.TrimSpace(model), ":"); model != "" {
		l.dropUnused(provider, name)
		l.set("model.provider", provider, source, name)
		l.set("model.name", which, source, name)
	}
	if o.Script != "" {
		l.set("model.provider", string(ProviderOffline), FromFlag, "--script")
		l.set("model.script", o.Script, FromFlag, "--script")
	}
	if o.Listen != "" {
		l.set("server.listen", o.Listen, FromFlag, "--listen")
	}
	variable := strings.ToUpper(l.get("model.provider")) + "_BASE_URL"
	if base := o.Getenv(variable); base != "" && l.get("model.base_url") == "" && l.get("model.provider") != string(ProviderOffline) {
		value, _ := shown("model.base_url", base)
		l.set("model.base_url", value, FromEnvironment, variable)
	}
}

// dropUnused removes the settings of the file that belong to another model than the one that a
// variable or flag names.
func (l *listing) dropUnused(provider, name string) {
	for i := range l.all {
		s := &l.all[i]
		other := (s.Key == "model.base_url" || s.Key == "model.window") && provider != l.get("model.provider")
		if s.Source == FromUser && (other || s.Key == "model.script" && provider != string(ProviderOffline)) {
			s.Value, s.Note = nil, "not used: "+name+" names another model"
		}
	}
}

// projectTables returns the tables [plugins.NAME.config] of the project's file, or nil without a
// project.
func projectTables(d Dirs, root string) (*listing, error) {
	if root == "" || filepath.Join(root, filepath.FromSlash(ProjectFile)) == d.ConfigFile {
		return nil, nil
	}
	p, err := LoadProject(root)
	if err != nil || len(p.Plugins) == 0 {
		return nil, err
	}
	data, err := readInside(root, p.File())
	if err != nil {
		return nil, err
	}
	top, err := document.TOML(p.File(), data)
	return &listing{file: p.File(), top: top}, err
}

// plugins lists the settings of plugins. A value in the project's config replaces the user's.
func (l *listing) plugins(project *listing) {
	tables := l.top.Self.Get("plugins")
	for _, name := range tables.Names() {
		l.plugin(name, tables.Get(name))
	}
	if project == nil {
		return
	}
	tables = project.top.Self.Get("plugins")
	for _, name := range tables.Names() {
		project.leaves(document.KeyPath("plugins", name, "config"), tables.Get(name).Get("config"))
	}
	for _, s := range project.all {
		s.Source = FromProject
		l.all = slices.DeleteFunc(l.all, func(o Setting) bool { return covers(s.Key, o.Key) })
		l.all = append(l.all, s)
	}
}

// covers reports whether a value at one key replaces the value at another.
func covers(key, other string) bool { return other == key || strings.HasPrefix(other, key+".") }

func (l *listing) plugin(name string, table document.Value) {
	for _, key := range table.Names() {
		path := document.KeyPath("plugins", name, key)
		if key == "config" || key == "limits" {
			l.leaves(path, table.Get(key))
		} else {
			l.written(path, table.Get(key))
		}
	}
}

// leaves lists the values in a table and its nested tables.
func (l *listing) leaves(path string, v document.Value) {
	if v.Kind() != document.Map || v.Len() == 0 {
		l.written(path, v)
		return
	}
	for _, name := range v.Names() {
		l.leaves(path+"."+document.QuoteKey(name), v.Get(name))
	}
}

// lists adds the [[connect]] and [[mcp]] tables.
func (l *listing) lists() {
	for _, table := range []string{"connect", "mcp"} {
		for i, item := range l.top.Self.Get(table).Items() {
			for _, name := range item.Names() {
				l.leaves(document.KeyPath(table, i, name), item.Get(name))
			}
		}
	}
}

// modelKeys are the variables that hold the key of a model.
var modelKeys = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}

// secrets lists which secrets are set, and where.
func (l *listing) secrets(d Dirs, o Overrides) error {
	secrets, err := LoadSecrets(d.SecretsFile)
	if err != nil {
		return err
	}
	for _, name := range modelKeys {
		if o.Getenv(name) != "" {
			l.all = append(l.all, Setting{Key: "secrets." + name, Secret: true, Source: FromEnvironment, Name: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets.names)) {
		note := ""
		if slices.Contains(modelKeys, name) && o.Getenv(name) != "" {
			note = "not used: the environment has one"
		}
		l.secret(secrets, d, note, name)
	}
	for _, name := range secrets.Plugins() {
		l.secret(secrets, d, "", "plugins", name)
	}
	return nil
}

func (l *listing) secret(secrets *Secrets, d Dirs, note string, path ...any) {
	at := secrets.Problem("", "", path...)
	l.all = append(l.all, Setting{Key: "secrets." + document.KeyPath(path...), Secret: true, Note: note,
		Source: FromSecrets, File: cmp.Or(at.File, d.SecretsFile), Line: at.Line, Column: at.Column})
}

// Under reports whether prefix is the key of the setting or of a table that contains it: "model",
// "plugins.notes", "server.listen".
func (s Setting) Under(prefix string) bool {
	rest, ok := strings.CutPrefix(s.Key, prefix)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
