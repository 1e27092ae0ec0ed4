package python

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// newFile is the mode of a plugin's file that only its owner writes.
const newFile = 0o644

// Save replaces the file of the plugin of that name, at once and as a whole; see [Path]. A link in its place is
// replaced, never written through. Whether the content is a plugin, its caller knows from [Dialect.Validate].
func Save(env dialect.Env, name, content string) error {
	path, err := Path(env, name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), "."+name+"-*.tmp")
	if err != nil {
		return err
	}
	err = fill(draft, content, modeOf(path))
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("save %s: %w", path, err), os.Remove(draft.Name()))
	}
	return nil
}

// fill writes a draft so that it is on disk before it takes the place of the file.
func fill(draft *os.File, content string, mode os.FileMode) error {
	_, err := draft.WriteString(content)
	if err == nil {
		err = draft.Chmod(mode)
	}
	if err == nil {
		err = draft.Sync()
	}
	return errors.Join(err, draft.Close())
}

// modeOf is the permissions that the file has, or those of a new one.
func modeOf(path string) os.FileMode {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return newFile
	}
	return info.Mode().Perm()
}
