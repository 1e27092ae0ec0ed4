package python

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// newFile is the mode of a new plugin's file.
const newFile = 0o644

// Save replaces the file of the plugin of that name atomically; see [Path]. A link in its place is
// replaced, not followed. Save does not check the content; [Dialect.Validate] does.
func Save(env dialect.Env, name, content string) error {
	path, err := Path(env, name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(path, []byte(content), atomicfile.Options{Mode: modeOf(path)}); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}

// modeOf returns the permissions of the file, or those of a new one.
func modeOf(path string) os.FileMode {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return newFile
	}
	return info.Mode().Perm()
}
