// Package homedirs determines where Patchbay keeps its files, from the environment alone. It reads
// no file, so that the program that agents start for each event finds the daemon's socket without
// reading the configuration. Package config builds on it.
package homedirs

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Dirs holds the directories. All paths are absolute.
type Dirs struct {
	Home   string // the user's home; may be empty if $PATCHBAY_HOME is set
	Config string // files that the operator writes
	Data   string // data that must not be lost: the engine's store, installed plugins
	State  string // data that may be lost: sockets, logs
}

// ErrNone says that neither $HOME nor $PATCHBAY_HOME is set.
var ErrNone error = noHome{}

type noHome struct{}

func (e noHome) Error() string { return "no home directory; " + e.Fix() }

// Fix returns how to fix it.
func (noHome) Fix() string {
	return "set $HOME, or set $PATCHBAY_HOME to the directory that is to hold config, data and state"
}

// relativeHome is the error for a home that depends on the working directory.
type relativeHome struct{ home string }

func (e relativeHome) Error() string {
	return fmt.Sprintf("no home directory: $HOME is %.100q, which is not an absolute path; %s", e.home, e.Fix())
}

func (relativeHome) Is(target error) bool { return target == ErrNone }

// Fix returns how to fix it.
func (relativeHome) Fix() string { return "set $HOME to the absolute path of your home directory" }

// Locate determines the directories from the environment. It creates nothing.
//
// $PATCHBAY_HOME moves config, data and state under one root. Otherwise the XDG variables count,
// then $APPDATA and $LOCALAPPDATA on Windows, then the defaults of XDG below the home directory.
// macOS is no exception, because people keep their dotfiles in one place across machines.
func Locate(getenv func(string) string, goos string) (Dirs, error) {
	home := homeDir(getenv, goos)
	if goos != "windows" && home != "" && !filepath.IsAbs(home) {
		return Dirs{}, relativeHome{home} // in each directory there would be other plugins, or none
	}
	if root := getenv("PATCHBAY_HOME"); root != "" {
		root, err := Absolute(root, home)
		if err != nil {
			return Dirs{}, fmt.Errorf("$PATCHBAY_HOME: %w", err)
		}
		return Dirs{Home: home, Config: root, Data: filepath.Join(root, "data"), State: filepath.Join(root, "state")}, nil
	}
	if home == "" {
		return Dirs{}, ErrNone
	}
	base := baseDirs(getenv, goos, home)
	return Dirs{
		Home:   home,
		Config: filepath.Join(base.config, "patchbay"),
		Data:   filepath.Join(base.data, "patchbay"),
		State:  filepath.Join(base.state, "patchbay"),
	}, nil
}

type bases struct{ config, data, state string }

// baseDirs returns the directories that programs share, without Patchbay's own name.
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

// xdg follows the base directory specification: a relative path in one of its variables is ignored.
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

// Absolute expands a leading `~`, which shells do not expand inside quotes, and makes the path
// absolute.
func Absolute(path, home string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok {
		return filepath.Abs(path)
	}
	if rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return "", fmt.Errorf("%q: only your own home can be written with ~", path)
	}
	if home == "" {
		return "", fmt.Errorf("%q: %w", path, ErrNone)
	}
	return filepath.Join(home, rest), nil
}

func orElse(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
