package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// namespace is what a plugin's keys begin with in the bucket: its name and a slash. The engine
// finds what is below a slash without looking at anything else, so that a list of one plugin's keys
// does not cost more with every key of another. A slash within the name is written as %2F, so that
// no namespace lies in another.
func namespace(name string) string { return nameEscapes.Replace(name) + "/" }

var nameEscapes = strings.NewReplacer("%", "%25", "/", "%2F")

// layoutKey says that no key of the earlier layout is left, in which a NUL stood in the place of
// the slash.
const layoutKey = "\x00layout"

// moveOldLayout moves what was stored in the earlier layout, once. If it is cut off, or two processes do
// it at once, what is left is moved the next time: a key is written in its new place before it goes
// from the old one.
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
		if !ok || name == "" || strings.Contains(name, "/") { // of this layout, or not a plugin's
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
	if errors.Is(err, engine.ErrNotFound) { // somebody else was faster
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
