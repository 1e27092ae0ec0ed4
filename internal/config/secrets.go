package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// Secrets is secrets.toml: `NAME = "…"` for ${NAME} and for keys, and [plugins.NAME] for a kaged
// plugin's system_config. The zero value, and nil, are empty.
type Secrets struct {
	names   map[string]Secret
	plugins map[string]SystemConfig

	source
}

// Plugins returns the names of the [plugins.NAME] tables, sorted.
func (s *Secrets) Plugins() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.plugins))
}

// Lookup returns the secret with that name.
func (s *Secrets) Lookup(name string) (Secret, bool) {
	if s == nil {
		return Secret{}, false
	}
	v, ok := s.names[name]
	return v, ok
}

// Plugin returns the system_config of a plugin; it is empty if the file has none.
func (s *Secrets) Plugin(name string) SystemConfig {
	if s == nil {
		return SystemConfig{}
	}
	return s.plugins[name]
}

// Values returns all secrets of the file, including the texts and numbers inside tables. Code that
// writes files for other people removes these values from them.
func (s *Secrets) Values() []string {
	if s == nil {
		return nil
	}
	var all []string
	for _, secret := range s.names {
		all = append(all, secret.Reveal())
	}
	for _, table := range s.plugins {
		all = append(all, leaves(table.Reveal())...)
	}
	return all
}

// leaves returns the texts and numbers inside a value.
func leaves(v any) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			all = append(all, leaves(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, leaves(inner)...)
		}
	case nil, bool:
	default:
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// LoadSecrets reads the secrets file. A missing file has no secrets. A file that other users can
// read is refused, with the command that fixes it. No error quotes the contents of the file.
func LoadSecrets(path string) (*Secrets, error) {
	f, err := plainfile.Open(path)
	if isAbsent(path, err) {
		return &Secrets{}, nil
	}
	if err != nil {
		return nil, unreadable("secrets", path, err)
	}
	defer f.Close()
	if err := checkPrivate(f, path); err != nil {
		return nil, err
	}
	data, err := document.Read(f, path)
	if err != nil {
		return nil, err
	}
	return parseSecrets(path, data)
}

// checkPrivate checks the open file, not its path, which may name another file by now.
func checkPrivate(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	if !sharedMode(info.Mode()) {
		return nil
	}
	return &Error{Problems: []Problem{{
		File:    path,
		Message: fmt.Sprintf("holds secrets and can be reached by others (mode %04o)", info.Mode().Perm()),
		Fix:     "run: chmod 600 " + shellQuote(path),
	}}}
}

func parseSecrets(path string, data []byte) (*Secrets, error) {
	top, err := document.TOML(path, data)
	if err != nil {
		return nil, withoutText(err)
	}
	s := readSecrets(top)
	if err := top.Err(); err != nil {
		return nil, err
	}
	s.file, s.position = path, top.Position
	return s, nil
}

func readSecrets(t *document.Table) *Secrets {
	s := &Secrets{names: make(map[string]Secret), plugins: make(map[string]SystemConfig)}
	plugins := t.Table("plugins")
	for _, name := range plugins.Names() {
		values := plugins.Free(name)
		s.plugins[name] = SystemConfig{values: func() map[string]any { return values }}
	}
	for _, name := range t.Names() {
		if name != "plugins" {
			s.names[name] = NewSecret(t.Text(name, ""))
		}
	}
	return s
}

// withoutText keeps the position of a syntax error and replaces its message, which may quote the
// line.
func withoutText(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	for i := range e.Problems {
		e.Problems[i].Message = "not valid TOML (the text is not shown: it may contain a secret)"
		e.Problems[i].Key = ""
	}
	return e
}

// unquoted lists the characters that need no quotes in a shell.
const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%"

// shellQuote quotes a path for a shell, if necessary.
func shellQuote(path string) string {
	if strings.IndexFunc(path, func(r rune) bool { return !strings.ContainsRune(unquoted, r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
