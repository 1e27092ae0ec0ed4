package filestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

// The errors that a plugin causes. Other errors come from the disk.
var (
	ErrKey   = entry.ErrKey   // the key is empty, longer than 512 bytes, or not UTF-8
	ErrValue = entry.ErrValue // the value is larger than 4 MiB, or not JSON
	ErrFull  = entry.ErrFull  // the value exceeds the plugin's quota
)

// A Store is a directory with a subdirectory for each plugin.
type Store struct {
	dir string
}

// New makes a store in dir. It does no I/O: the first Put creates the directory and its parents,
// with mode 0700.
func New(dir string) *Store { return &Store{dir: dir} }

// Plugin returns the storage of one plugin, for [patchbay.Options]. Names that differ only in case
// are different plugins, also if the file system ignores case. A program that sets its own quotas
// wraps this method in a function.
func (s *Store) Plugin(name string, quota patchbay.StorageQuota) patchbay.Storage {
	return &bucket{store: s.dir, plugin: name, quota: entry.Quota(quota), turn: make(chan struct{}, 1)}
}

// A bucket stores the values of one plugin.
type bucket struct {
	store  string // the directory of all plugins
	plugin string
	quota  entry.Quota
	turn   chan struct{} // used as a mutex: callers of this bucket wait here, so that only one of them polls for the lock
}

// Get returns the value of a key, and false if there is none.
func (b *bucket) Get(ctx context.Context, key string) (json.RawMessage, bool, error) {
	if err := cmp.Or(ctx.Err(), entry.CheckKey(key)); err != nil {
		return nil, false, err
	}
	d, err := b.openDir()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, wrapError(err)
	}
	defer d.close()
	content, err := d.read(keyName(key), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, wrapError(err)
	}
	value, err := decode(content, key)
	if err != nil {
		return nil, false, wrapError(d.damaged(keyName(key), err))
	}
	return value, true, nil
}

// Put stores a value. When it returns nil, the value is on disk. If the value exceeds the quota,
// the error is [ErrFull] and the old value stays.
func (b *bucket) Put(ctx context.Context, key string, value json.RawMessage) error {
	if err := cmp.Or(ctx.Err(), entry.CheckKey(key), entry.CheckValue(value)); err != nil {
		return err
	}
	return b.change(ctx, change{
		name:  keyName(key),
		key:   key,
		usage: entry.Usage{Bytes: int64(len(key) + len(value)), Keys: 1},
		apply: func(d *dir) error { return d.replace(keyName(key), encode(key, value)) },
	})
}

// Delete removes a key. It is not an error if the key does not exist.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := cmp.Or(ctx.Err(), entry.CheckKey(key)); err != nil {
		return err
	}
	return b.change(ctx, change{name: keyName(key), key: key, apply: func(d *dir) error { return d.remove(keyName(key)) }})
}

// List returns the keys that begin with prefix, sorted. If the key in a damaged file is not known,
// or the file of a key is not a regular file, it returns the other keys and an error that names
// those files.
func (b *bucket) List(ctx context.Context, prefix string) ([]string, error) {
	d, err := b.openDir()
	keys := []string{} // not nil, which is null in JSON
	if errors.Is(err, fs.ErrNotExist) {
		return keys, ctx.Err()
	}
	if err != nil {
		return nil, wrapError(err)
	}
	defer d.close()
	var damage []error
	err = d.walk(ctx, func(f found) error {
		switch {
		case f.key != "" && !strings.HasPrefix(f.key, prefix):
		case f.damage != nil:
			damage = append(damage, f.damage)
		default:
			keys = append(keys, f.key)
		}
		return nil
	})
	if err != nil {
		return nil, wrapError(err)
	}
	slices.Sort(keys)
	return keys, wrapError(errors.Join(damage...))
}

// A change describes what is done to one key.
type change struct {
	name, key string
	usage     entry.Usage // of the key afterwards
	apply     func(*dir) error
}

func (c change) deletes() bool { return c.usage.Keys == 0 }

// change makes a change while no other writer has the plugin's directory. Without a directory there
// is nothing to delete.
func (b *bucket) change(ctx context.Context, c change) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-b.turn }()
	d, err := b.openFor(c)
	if errors.Is(err, fs.ErrNotExist) && c.deletes() {
		return nil
	}
	if err != nil {
		return wrapError(err)
	}
	defer d.close()
	l, err := d.lock(ctx)
	if err != nil {
		return wrapError(err)
	}
	defer l.close()
	return wrapError(b.applyWithinQuota(ctx, l, c))
}

// applyWithinQuota makes a change if the quota allows it.
func (b *bucket) applyWithinQuota(ctx context.Context, l *ledger, c change) error {
	used, err := l.load(ctx)
	if err != nil {
		return err
	}
	was, err := l.dir.usageOf(c.name, c.key)
	if err != nil {
		return err
	}
	more := entry.Usage{Bytes: c.usage.Bytes - was.Bytes, Keys: c.usage.Keys - was.Keys}
	if !used.Fits(more, b.quota) {
		return fmt.Errorf("%w, or the quota that the program gives to Store.Plugin", b.quota.Full(b.plugin, used, more))
	}
	if err := l.erase(); err != nil {
		return err
	}
	if err := c.apply(l.dir); err != nil {
		return err
	}
	l.save(used.Plus(more))
	return nil
}

// wrapError adds the name of the package to an error.
func wrapError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("filestore: %w", err)
}
