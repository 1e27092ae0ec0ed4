package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/capability"
)

// makeMissing creates the paths that are granted for writing and are missing: a directory, or a
// file if its name has an extension. The plugin could not create them, because only existing files
// can be mounted. Only the last element of the path is created, and no link at its place is
// followed.
func (b *Box) makeMissing() error {
	p := &planner{opts: &b.opts, origins: newOrigins(&b.opts)}
	for _, g := range b.opts.Grants {
		if g.Kind != capability.WriteFS {
			continue
		}
		if err := cmp.Or(p.origins.checkGrant(g, walk(g.Path)), p.guardGrant(g), p.guardAliases(g, readMounts())); err != nil {
			return err
		}
		if err := p.origins.makeMissing(g.Path); err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
	}
	return nil
}

func (o *origins) makeMissing(path string) error {
	dir := walk(filepath.Dir(path))
	if _, theirs := dir.through(o.writable); theirs {
		return nil // the plugin may have created the link; nothing will be mounted for it, so nothing is created
	}
	parent, err := unix.Openat2(unix.AT_FDCWD, dir.end, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return &Refusal{Why: fmt.Sprintf("%s does not exist, so %s cannot be created: create it, or grant an existing path", dir.end, path)}
	}
	defer unix.Close(parent)
	name := filepath.Base(path)
	var stat unix.Stat_t
	err = unix.Fstatat(parent, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK && !walk(path).exists():
		return &Refusal{Why: fmt.Sprintf("%s is a link to %s, which does not exist", path, realPath(path))}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case hasExtension(name):
		err = makeFile(parent, name)
	default:
		err = unix.Mkdirat(parent, name, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another start of the plugin has just made it
	}
	return err
}

// hasExtension reports whether a name is that of a file: "notes.db" is, ".cache" is not.
func hasExtension(name string) bool { return filepath.Ext(strings.TrimLeft(name, ".")) != "" }

func makeFile(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
