package plugininstall

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// copyTree copies a directory, without the files that are not part of a plugin.
func copyTree(ctx context.Context, s *sink, from string) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(real, path)
		if err != nil || rel == "." {
			return err
		}
		if trust.Ignored(d.Name(), d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return s.take(filepath.ToSlash(rel), path, d)
	})
}

// take copies one file.
func (s *sink) take(name, path string, d fs.DirEntry) error {
	name, ok, err := clean(name)
	if err != nil || !ok {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return s.dir(name)
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return s.link(name, filepath.ToSlash(target))
	case !mode.IsRegular():
		return hostile(name, "it is neither a file, a directory nor a link")
	default:
		return s.copyFile(name, path, mode)
	}
}

func (s *sink) copyFile(name, path string, mode fs.FileMode) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	defer f.Close()
	return s.file(name, mode, f)
}
