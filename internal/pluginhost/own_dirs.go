package pluginhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// own reports whether the plugins belong to the embedding program, so that the user's configuration
// is not read.
func (s *setup) own() bool { return s.Dirs != nil && s.ConfigFile == "" }

// absoluteDirs makes the program's directories absolute.
func (s *setup) absoluteDirs() (err error) {
	s.Dirs = slices.Clone(s.Dirs)
	for i := range s.Dirs {
		if s.Dirs[i], err = filepath.Abs(s.Dirs[i]); err != nil {
			return fmt.Errorf("plugin directory: %w", err)
		}
	}
	return nil
}

// loadNothing does the work of load for a program with its own plugins: it uses an empty
// configuration.
func (s *setup) loadNothing() (err error) {
	s.secrets = &config.Secrets{}
	if s.config, err = config.ParseConfig("", nil); err != nil {
		return err
	}
	s.openTrust()
	g, err := s.loadConfigs(s.config)
	s.configs.Store(g)
	return err
}

// dirs adds the plugins in the program's own directories. It ignores files that no dialect
// recognises, such as a README, and directories that do not exist.
func (s *search) dirs(chosen []dialect.Dialect) error {
	for _, dir := range s.host.setup().Dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("plugin directory: %w", err)
		}
		for _, e := range entries {
			if err := s.path(filepath.Join(dir, e.Name()), chosen); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
	}
	return nil
}
