package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// namespace returns the prefix of a plugin's keys in the bucket: its name and a slash. The engine
// finds the keys below a slash by an index, so listing the keys of one plugin does not take longer
// if another plugin has many. A slash in the name is written as %2F, so that no namespace is inside
// another.
func namespace(name string) string { return nameEscapes.Replace(name) + "/" }

var nameEscapes = strings.NewReplacer("%", "%25", "/", "%2F")

// layoutKey exists if no key of the earlier layout is left. That layout had a NUL in the place of
// the slash.
const layoutKey = "\x00layout"

// moveOldLayout moves the keys of the earlier layout, once. It writes a key at its new place before
// it deletes the old one. So if it is interrupted, or if two processes do it at once, the next call
// moves the rest.
func moveOldLayout(ctx context.Context, bucket engine.Bucket) error {
	if _, err := bucket.Get(ctx, layoutKey); err == nil || !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	keys, err := bucket.Keys(ctx, "")
	if err != nil {
		return err
	}
	for _, key := range keys {
		name, rest, ok := strings.Cut(key, "\x00")
		if !ok || name == "" || strings.Contains(name, "/") { // of the present layout, or not a key of a plugin
			continue
		}
		if err := move(ctx, bucket, key, namespace(name)+rest); err != nil {
			return err
		}
	}
	_, err = bucket.Put(ctx, layoutKey, []byte("2"))
	return err
}

func move(ctx context.Context, bucket engine.Bucket, from, to string) error {
	v, err := bucket.Get(ctx, from)
	if errors.Is(err, engine.ErrNotFound) { // another process has moved it
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := bucket.Create(ctx, to, v.Data); err != nil && !errors.Is(err, engine.ErrExists) {
		return err
	}
	return bucket.Delete(ctx, from)
}
