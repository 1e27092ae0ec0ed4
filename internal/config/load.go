package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/patchbay-dev/patchbay/internal/tomlfile"
)

// Load reads and checks the config at path. A missing file is an empty config. What is wrong with the
// file comes back as one [*Error] with every problem in it.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		c := Default()
		c.file = path
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	data, err := tomlfile.Read(f, path)
	if err != nil {
		return nil, err
	}
	return parseConfig(path, data)
}

func parseConfig(path string, data []byte) (*Config, error) {
	top, err := tomlfile.Parse(path, data)
	if err != nil {
		return nil, err
	}
	c := readConfig(top)
	if err := top.Err(); err != nil {
		return nil, err
	}
	c.file, c.position = path, top.Position
	return c, nil
}
