package projectfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/trust"
)

// Limits of a project's plugins. They are needed because the plugins are copied before the user is
// asked whether to trust them, and because they are hashed again and again: when a host of a
// recorded project opens, and when the plugins or the record change.
const (
	mostFiles = 2000
	mostBytes = 64 << 20
)

// A surveyed is a file, directory or link below the directory of plugins.
type surveyed struct {
	name   string // below the directory, with slashes
	info   fs.FileInfo
	target string // the target of a link
}

// survey lists a project's plugin directory, each directory before its contents. It opens no file.
// A file that cannot be shown to a user, or copied, is an error.
func survey(root *os.Root) ([]surveyed, error) {
	var all []surveyed
	var size int64
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if trust.Ignored(d.Name(), d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		one := surveyed{name: name, info: info}
		if err := one.check(root); err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			size += info.Size()
		}
		if all = append(all, one); len(all) > mostFiles || size > mostBytes {
			return fmt.Errorf("it has more than %d files, or %d MiB: install such plugins with `patchbay plugin install`", mostFiles, mostBytes>>20)
		}
		return nil
	})
	return all, err
}

// check refuses special files, names with control characters, and links that lead out of the plugin
// or to nothing.
func (s *surveyed) check(root *os.Root) (err error) {
	mode := s.info.Mode()
	switch {
	case !utf8.ValidString(s.name) || strings.ContainsFunc(s.name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%q: its name has characters that cannot be shown", s.name)
	case mode.IsRegular(), mode.IsDir():
		return nil
	case mode&fs.ModeSymlink == 0:
		return fmt.Errorf("%s is neither a file, a directory nor a link", s.name)
	}
	if s.target, err = root.Readlink(filepath.FromSlash(s.name)); err != nil {
		return err
	}
	plugin, _, nested := strings.Cut(s.name, "/")
	to := path.Join(path.Dir(s.name), filepath.ToSlash(s.target))
	if first, _, _ := strings.Cut(to, "/"); filepath.IsAbs(s.target) || !nested || first != plugin {
		return fmt.Errorf("%s is a link that leads out of its plugin", s.name)
	}
	if _, err := root.Stat(filepath.FromSlash(s.name)); err != nil {
		return fmt.Errorf("%s is a link that leads nowhere", s.name)
	}
	return nil
}

// take hashes the plugins of a project, within the limits.
func take(dir string) ([]trust.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	_, err = survey(root)
	if err = errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	return trust.Take([]trust.Root{{Path: dir}})
}

// Stamp returns a text that changes when the plugins of a project or its record change. It reads no
// files, so it can be called often. It may miss a change. That does little harm, because only the
// copy runs, and the copy stays the same.
func (s Store) Stamp(root string) string {
	var b strings.Builder
	note := func(name string, info fs.FileInfo) {
		fmt.Fprintf(&b, "%q %v %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	for _, path := range []string{s.lock, filepath.Join(root, Dir)} {
		if info, err := os.Lstat(path); err == nil {
			note(path, info)
		}
	}
	dir, err := os.OpenRoot(filepath.Join(root, filepath.FromSlash(PluginsDir)))
	if err != nil {
		return b.String()
	}
	defer dir.Close()
	all, err := survey(dir)
	for _, one := range all {
		note(one.name, one.info)
	}
	if err != nil {
		b.WriteString(err.Error())
	}
	return b.String()
}
