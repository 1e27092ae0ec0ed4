package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Dirs says where things live. All paths are absolute.
type Dirs struct {
	Home   string // the user's home; empty where there is none and $PATCHBAY_HOME stands in
	Config string // what the operator wrote
	Data   string // what must survive: the engine's store, installed plugins
	State  string // what may be lost: sockets, logs

	ConfigFile  string // config.toml
	SecretsFile string // secrets.toml, mode 0600
	LockFile    string // patchbay.lock, beside the config
}

// ErrNoHome says that neither $HOME nor $PATCHBAY_HOME tells where to look.
var ErrNoHome = errors.New("no home directory: set $HOME, or set $PATCHBAY_HOME to the directory that is to hold config, data and state")

// Locate works out the directories from the environment; it creates nothing.
//
// $PATCHBAY_HOME moves config, data and state under one root. Otherwise the XDG variables count, then their
// defaults below the home directory, on macOS too: people keep dotfiles in one place across machines.
func Locate(getenv func(string) string, goos string) (Dirs, error) {
	home := homeDir(getenv, goos)
	if root := getenv("PATCHBAY_HOME"); root != "" {
		root, err := absolute(root, home)
		if err != nil {
			return Dirs{}, fmt.Errorf("$PATCHBAY_HOME: %w", err)
		}
		return Dirs{
			Home: home, Config: root,
			Data: filepath.Join(root, "data"), State: filepath.Join(root, "state"),
		}.withFiles(), nil
	}
	if home == "" {
		return Dirs{}, ErrNoHome
	}
	base := baseDirs(getenv, goos, home)
	return Dirs{
		Home:   home,
		Config: filepath.Join(base.config, "patchbay"),
		Data:   filepath.Join(base.data, "patchbay"),
		State:  filepath.Join(base.state, "patchbay"),
	}.withFiles(), nil
}

func (d Dirs) withFiles() Dirs {
	d.ConfigFile = filepath.Join(d.Config, "config.toml")
	d.SecretsFile = filepath.Join(d.Config, "secrets.toml")
	d.LockFile = filepath.Join(d.Config, "patchbay.lock")
	return d
}

// Resolve makes a path from the config absolute: `~` is the home directory, and a relative path is meant from
// where the config file is, not from wherever the command was started.
func (d Dirs) Resolve(path string) (string, error) {
	if strings.HasPrefix(path, "~") {
		return absolute(path, d.Home)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	base := d.Config
	if d.ConfigFile != "" { // it may have been named by hand, and lie elsewhere
		base = filepath.Dir(d.ConfigFile)
	}
	return filepath.Abs(filepath.Join(base, path))
}

// JobDirs are the directories that hold agents: those the config names, or the default two.
func (d Dirs) JobDirs(c *Config) ([]string, error) {
	if c.Jobs.Dirs == nil {
		dirs := []string{filepath.Join(d.Config, "agents")}
		if d.Home != "" {
			dirs = append(dirs, filepath.Join(d.Home, ".config", "dotagent", "agents"))
		}
		return dirs, nil
	}
	dirs := make([]string, 0, len(c.Jobs.Dirs))
	for i, dir := range c.Jobs.Dirs {
		path, err := d.Resolve(dir)
		if err != nil {
			return nil, &Error{Problems: []Problem{c.Problem(err.Error(), "", "jobs", "dirs", i)}}
		}
		dirs = append(dirs, path)
	}
	return dirs, nil
}

type bases struct{ config, data, state string }

// baseDirs are the directories that programs share, before our own name is added.
func baseDirs(getenv func(string) string, goos, home string) bases {
	b := bases{
		config: filepath.Join(home, ".config"),
		data:   filepath.Join(home, ".local", "share"),
		state:  filepath.Join(home, ".local", "state"),
	}
	if goos == "windows" {
		b.config = orElse(getenv("APPDATA"), b.config)
		b.data = orElse(getenv("LOCALAPPDATA"), b.data)
		b.state = filepath.Join(b.data, "state")
	}
	b.config = xdg(getenv("XDG_CONFIG_HOME"), b.config)
	b.data = xdg(getenv("XDG_DATA_HOME"), b.data)
	b.state = xdg(getenv("XDG_STATE_HOME"), b.state)
	return b
}

// xdg obeys the base directory specification: a relative path in one of its variables is to be ignored.
func xdg(value, fallback string) string {
	if filepath.IsAbs(value) {
		return value
	}
	return fallback
}

func homeDir(getenv func(string) string, goos string) string {
	home := getenv("HOME")
	if home == "" && goos == "windows" {
		home = getenv("USERPROFILE")
	}
	return home
}

// absolute expands a leading `~`, which shells leave alone inside quotes, and makes the path absolute.
func absolute(path, home string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok {
		return filepath.Abs(path)
	}
	if rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return "", fmt.Errorf("%q: only your own home can be written with ~", path)
	}
	if home == "" {
		return "", fmt.Errorf("%q: %w", path, ErrNoHome)
	}
	return filepath.Join(home, rest), nil
}

func orElse(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
