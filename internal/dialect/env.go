package dialect

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Env is the host's environment, as a plugin's surroundings are made from it.
type Env struct {
	Vars []string // "NAME=value"; the last of a name counts
}

// Get returns a variable's value, "" where it is not set.
func (e Env) Get(name string) string {
	for _, v := range slices.Backward(e.Vars) {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// Home is the user's directory, as $HOME says.
func (e Env) Home() string { return e.Get("HOME") }

// InHome joins elements to the home directory; "" where there is none.
func (e Env) InHome(elem ...string) string {
	home := e.Home()
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, elem...)...)
}

// ConfigHome is $XDG_CONFIG_HOME, by default ~/.config.
func (e Env) ConfigHome() string {
	if dir := e.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return e.InHome(".config")
}

// InConfigHome joins elements to the configuration directory; "" where there is none.
func (e Env) InConfigHome(elem ...string) string {
	config := e.ConfigHome()
	if config == "" {
		return ""
	}
	return filepath.Join(append([]string{config}, elem...)...)
}

// DataHome is $XDG_DATA_HOME, by default ~/.local/share.
func (e Env) DataHome() string {
	if dir := e.Get("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return e.InHome(".local", "share")
}

// InDataHome joins elements to the data directory; "" where there is none.
func (e Env) InDataHome(elem ...string) string {
	data := e.DataHome()
	if data == "" {
		return ""
	}
	return filepath.Join(append([]string{data}, elem...)...)
}

// BaseNames are the variables that scaffold, kaged and python plugins get.
var BaseNames = []string{"PATH", "HOME", "LANG", "LC_ALL", "TERM", "USER", "LOGNAME", "TMPDIR", "TZ"}

// Pick builds a plugin's environment up from nothing: the variables whose names are listed, or
// match a listed pattern (GIT_*), and are set; then extra, whose values win. Nothing else of the
// host's reaches a plugin.
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
