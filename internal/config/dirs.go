package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/homedirs"
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
	LockTexts   string // a directory with the texts of files that the lock names
}

// ErrNoHome says that neither $HOME nor $PATCHBAY_HOME tells where to look.
var ErrNoHome = homedirs.ErrNone

// Locate works out the directories from the environment; it creates nothing. See [homedirs.Locate].
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

// withLock are the directories with another lock. Each lock has a directory of texts of its own,
// since it removes those that it does not name.
func (d Dirs) withLock(file string) Dirs {
	sum := sha256.Sum256([]byte(file))
	d.LockFile, d.LockTexts = file, filepath.Join(d.Data, "trust", hex.EncodeToString(sum[:8]))
	return d
}

// WithConfig are the directories where another configuration file is in force. The lock is beside
// that.
func (d Dirs) WithConfig(file string) (Dirs, error) {
	if file == "" {
		return d, nil
	}
	abs, err := filepath.Abs(file)
	d.ConfigFile = file
	return d.withLock(filepath.Join(filepath.Dir(abs), filepath.Base(d.LockFile))), err
}

// Resolve makes a path from the config absolute: `~` is the home directory, and a relative path is
// meant from where the config file is, not from wherever the command was started.
func (d Dirs) Resolve(path string) (string, error) {
	if strings.HasPrefix(path, "~") {
		return homedirs.Absolute(path, d.Home)
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
