package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A found is a file that walk has found.
type found struct {
	name   string
	key    string
	damage error // the key is not known, or the file is not regular
}

// walk calls visit with the file of each key, in no particular order. It ignores files with other
// names.
func (d *dir) walk(ctx context.Context, visit func(found) error) error {
	entries, err := d.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, ok := d.identify(e)
		if !ok {
			continue
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

func (d *dir) entries() ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, withPath(d.path, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	return entries, withPath(d.path, err)
}

// identify returns the key of an entry, and false if the entry is not the file of a key or no
// longer exists.
func (d *dir) identify(e fs.DirEntry) (found, bool) {
	f := found{name: e.Name()}
	var ok bool
	f.key, ok = keyFromName(f.name)
	switch {
	case !ok && !isHashed(f.name):
		return f, false
	case !e.Type().IsRegular():
		f.damage = withPath(d.file(f.name), regular(e.Type()))
	case !ok:
		f.key, f.damage = d.keyInside(f.name)
	}
	return f, !errors.Is(f.damage, fs.ErrNotExist)
}

// keyInside reads the key of a file whose name is a hash.
func (d *dir) keyInside(name string) (string, error) {
	head, err := d.head(name, maxHead)
	if err != nil {
		return "", err
	}
	key, _, _, err := split(head)
	if err == nil && keyName(key) != name {
		err = fmt.Errorf("it holds the key %.80q, which belongs in %s", key, keyName(key))
	}
	if err != nil {
		return "", d.damaged(name, err)
	}
	return key, nil
}

// removeTemps removes the temporary files of killed writers. The caller holds the lock, so no other
// process is writing.
func (d *dir) removeTemps() error {
	entries, err := d.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !e.Type().IsRegular() {
			continue
		}
		if err := d.root.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return withPath(d.file(e.Name()), err)
		}
	}
	return nil
}
