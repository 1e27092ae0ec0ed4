package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/homedirs"
)

// Dirs says where the files of Patchbay are. All paths are absolute, except ConfigFile after
// [Dirs.WithConfig].
type Dirs struct {
	Home   string // the user's home; "" if there is none and $PATCHBAY_HOME is set
	Config string // files that the operator writes
	Data   string // data that must survive: the engine's store, installed plugins
	State  string // data that may be lost: sockets, logs

	ConfigFile  string // config.toml
	SecretsFile string // secrets.toml, mode 0600
	LockFile    string // patchbay.lock, beside the config
	LockTexts   string // a directory with copies of the files that the lock lists
}

// ErrNoHome is returned if neither $HOME nor $PATCHBAY_HOME is set.
var ErrNoHome = homedirs.ErrNone

// Locate returns the directories that follow from the environment. It creates nothing. See
// [homedirs.Locate].
func Locate(getenv func(string) string, goos string) (Dirs, error) {
	at, err := homedirs.Locate(getenv, goos)
	if err != nil {
		return Dirs{}, err
	}
	return Dirs{Home: at.Home, Config: at.Config, Data: at.Data, State: at.State}.withFiles(), nil
}

func (d Dirs) withFiles() Dirs {
	d.ConfigFile = filepath.Join(d.Config, "config.toml")
	d.SecretsFile = filepath.Join(d.Config, "secrets.toml")
	return d.withLock(filepath.Join(d.Config, "patchbay.lock"))
}

// withLock returns the directories with another lock file. Each lock has its own directory of
// copies, because the copies that a lock does not list are removed from its directory.
func (d Dirs) withLock(file string) Dirs {
	sum := sha256.Sum256([]byte(file))
	d.LockFile, d.LockTexts = file, filepath.Join(d.Data, "trust", hex.EncodeToString(sum[:8]))
	return d
}

// WithConfig returns the directories for another configuration file. ConfigFile is then the given
// path, which may be relative, for messages. The lock is beside that file.
func (d Dirs) WithConfig(file string) (Dirs, error) {
	if file == "" {
		return d, nil
	}
	abs, err := filepath.Abs(file)
	d.ConfigFile = file
	return d.withLock(filepath.Join(filepath.Dir(abs), filepath.Base(d.LockFile))), err
}

// Resolve makes a path from the config absolute. `~` is the home directory. A relative path is
// relative to the config file, not to the working directory.
func (d Dirs) Resolve(path string) (string, error) {
	if strings.HasPrefix(path, "~") {
		return homedirs.Absolute(path, d.Home)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	base := d.Config
	if d.ConfigFile != "" { // the user may have named a file elsewhere
		base = filepath.Dir(d.ConfigFile)
	}
	return filepath.Abs(filepath.Join(base, path))
}

// JobDirs returns the directories with agents: those of the config, or the two default ones.
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
