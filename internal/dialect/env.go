package dialect

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Env is the host's environment, from which the environment of each plugin is built.
type Env struct {
	Vars []string // "NAME=value"; the last entry of a name wins
}

// Get returns a variable's value, or "" if it is not set.
func (e Env) Get(name string) string {
	for _, v := range slices.Backward(e.Vars) {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// Home returns the user's home directory, $HOME.
func (e Env) Home() string { return e.Get("HOME") }

// InHome joins elements to the home directory. It returns "" if there is no home directory.
func (e Env) InHome(elem ...string) string {
	home := e.Home()
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, elem...)...)
}

// ConfigHome returns $XDG_CONFIG_HOME, by default ~/.config.
func (e Env) ConfigHome() string {
	if dir := e.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return e.InHome(".config")
}

// InConfigHome joins elements to the configuration directory. It returns "" if there is no home
// directory.
func (e Env) InConfigHome(elem ...string) string {
	config := e.ConfigHome()
	if config == "" {
		return ""
	}
	return filepath.Join(append([]string{config}, elem...)...)
}

// DataHome returns $XDG_DATA_HOME, by default ~/.local/share.
func (e Env) DataHome() string {
	if dir := e.Get("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return e.InHome(".local", "share")
}

// InDataHome joins elements to the data directory. It returns "" if there is no home directory.
func (e Env) InDataHome(elem ...string) string {
	data := e.DataHome()
	if data == "" {
		return ""
	}
	return filepath.Join(append([]string{data}, elem...)...)
}

// BaseNames are the variables that scaffold, kaged and python plugins get:
// docs/protocols/scaffold.md, row S50, kaged.md, row K49, and python.md, row P44.
var BaseNames = []string{"PATH", "HOME", "LANG", "LC_ALL", "TERM", "USER", "LOGNAME", "TMPDIR", "TZ"}

// Pick builds a plugin's environment from nothing. It has the variables of the host that are set
// and whose names are listed or match a listed pattern (GIT_*), and then extra, which overrides
// them. No other variable of the host reaches a plugin.
func (e Env) Pick(names []string, extra ...string) []string {
	values := make(map[string]string)
	for _, v := range e.Vars {
		if name, value, ok := strings.Cut(v, "="); ok && matchesAny(names, name) {
			values[name] = value
		}
	}
	for _, v := range extra {
		if name, value, ok := strings.Cut(v, "="); ok {
			values[name] = value
		}
	}
	out := make([]string, 0, len(values))
	for name, value := range values {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}
