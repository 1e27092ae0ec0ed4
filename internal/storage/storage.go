package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/rawjson"
)

// Bounds of what a plugin may store.
const (
	MaxKey   = 512     // bytes: longer than any path, short enough to list by the thousand
	MaxValue = 4 << 20 // bytes: seed 002, "Max message size: 4 MB", so nothing larger can arrive
)

// What a plugin can do wrong. Other errors are the engine's.
var (
	ErrKey   = errors.New("not a storage key")
	ErrValue = errors.New("not a storable value")
)

// Store is what all plugins keep.
type Store struct {
	open func(context.Context) (engine.Store, error)

	mu     sync.Mutex // protects bucket
	bucket engine.Bucket
}

// New makes a store on an engine, which is opened when the first plugin asks for something.
func New(open func(context.Context) (engine.Store, error)) *Store { return &Store{open: open} }

// opened is the bucket with everything in it.
func (s *Store) opened(ctx context.Context) (engine.Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bucket != nil {
		return s.bucket, nil
	}
	e, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.bucket, err = e.Bucket(ctx, engine.BucketConfig{Name: "storage"})
	return s.bucket, err
}

// Plugin is the namespace of one plugin.
func (s *Store) Plugin(name string) Bucket { return Bucket{store: s, prefix: name + "\x00"} }

// Bucket is one plugin's keys and values. All methods are safe for concurrent use, within a process and between several.
type Bucket struct {
	store  *Store
	prefix string // before each key: the plugin's name, and what no name has in it
}

// Get is the value of a key; false where there is none.
func (b Bucket) Get(ctx context.Context, key string) (json.RawMessage, bool, error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	bucket, err := b.store.opened(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("storage: %w", err)
	}
	v, err := bucket.Get(ctx, b.prefix+key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("storage: %w", err)
	}
	return v.Data, true, nil
}

// Put stores a value. When it returns nil, the value is on disk.
func (b Bucket) Put(ctx context.Context, key string, value json.RawMessage) error {
	if err := cmp.Or(checkKey(key), checkValue(value)); err != nil {
		return err
	}
	bucket, err := b.store.opened(ctx)
	if err == nil {
		_, err = bucket.Put(ctx, b.prefix+key, value)
	}
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// Delete removes a key. That there is none is not an error.
func (b Bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	bucket, err := b.store.opened(ctx)
	if err == nil {
		err = bucket.Delete(ctx, b.prefix+key)
	}
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// List is the keys that start with prefix, sorted.
func (b Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	bucket, err := b.store.opened(ctx)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	keys, err := bucket.Keys(ctx, b.prefix+prefix)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], b.prefix)
	}
	return keys, nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrKey, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: %.80q is not UTF-8", ErrKey, key)
	}
	return nil
}

func checkValue(value json.RawMessage) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrValue, len(value), MaxValue)
	}
	if err := rawjson.Check(value); err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	return nil
}
