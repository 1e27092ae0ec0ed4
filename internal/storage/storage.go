package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

// A Quota limits how much one plugin may store.
type Quota = entry.Quota

// A Store stores the values of all plugins.
type Store struct {
	open func(context.Context) (engine.Store, error)

	mu       sync.Mutex // protects the fields below
	bucket   engine.Bucket
	accounts map[string]*account // by plugin
}

// New makes a store on an engine, which is opened at the first access.
func New(open func(context.Context) (engine.Store, error)) *Store { return &Store{open: open} }

// openBucket returns the engine's bucket, and opens it at the first call.
func (s *Store) openBucket(ctx context.Context) (engine.Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bucket != nil {
		return s.bucket, nil
	}
	e, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	bucket, err := e.Bucket(ctx, engine.BucketConfig{Name: "storage"})
	if err != nil {
		return nil, err
	}
	if err := moveOldLayout(ctx, bucket); err != nil {
		return nil, err
	}
	s.bucket = bucket
	return bucket, nil
}

// Plugin returns the namespace of one plugin, with a quota.
func (s *Store) Plugin(name string, q Quota) Bucket {
	return Bucket{store: s, name: name, prefix: namespace(name), quota: q}
}

// account returns the account of a plugin.
func (s *Store) account(name string) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts == nil {
		s.accounts = make(map[string]*account)
	}
	a := s.accounts[name]
	if a == nil {
		a = &account{turn: make(chan struct{}, 1)}
		s.accounts[name] = a
	}
	return a
}

// A Bucket has the keys and values of one plugin. All methods are safe for concurrent use, within a
// process and between several.
type Bucket struct {
	store  *Store
	name   string // the plugin's
	prefix string // of each key: see namespace
	quota  Quota
}

// Get returns the value of a key, and false if there is none.
func (b Bucket) Get(ctx context.Context, key string) (json.RawMessage, bool, error) {
	if err := entry.CheckKey(key); err != nil {
		return nil, false, err
	}
	bucket, err := b.store.openBucket(ctx)
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

// Put stores a value. When it returns nil, the value is on disk. If the value exceeds the quota,
// the error is [entry.ErrFull] and the old value stays.
func (b Bucket) Put(ctx context.Context, key string, value json.RawMessage) error {
	if err := cmp.Or(entry.CheckKey(key), entry.CheckValue(value)); err != nil {
		return err
	}
	return b.change(ctx, func(bucket engine.Bucket, a *account) error { return b.put(ctx, bucket, a, key, value) })
}

// Delete removes a key. It is not an error if the key does not exist.
func (b Bucket) Delete(ctx context.Context, key string) error {
	if err := entry.CheckKey(key); err != nil {
		return err
	}
	return b.change(ctx, func(bucket engine.Bucket, a *account) error { return b.remove(ctx, bucket, a, key) })
}

// change calls do, and calls it again while other processes change the same key at the same time.
func (b Bucket) change(ctx context.Context, do func(engine.Bucket, *account) error) error {
	bucket, err := b.store.openBucket(ctx)
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	a := b.store.account(b.name)
	if err := a.lock(ctx); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	defer a.unlock()
	err = engine.ErrConflict
	for errors.Is(err, engine.ErrConflict) {
		err = do(bucket, a)
	}
	if err == nil || errors.Is(err, entry.ErrFull) {
		return err
	}
	return fmt.Errorf("storage: %w", err)
}

// put writes a value if the value that it replaces is still there. The quota depends on the old
// value.
func (b Bucket) put(ctx context.Context, bucket engine.Bucket, a *account, key string, value json.RawMessage) error {
	was, err := find(ctx, bucket, b.prefix+key)
	if err != nil {
		return err
	}
	d := entry.Usage{Bytes: int64(len(value) - len(was.Data))}
	if was.Revision == 0 {
		d = entry.Usage{Bytes: int64(len(key) + len(value)), Keys: 1}
	}
	if d.Grows() {
		if err := b.reserve(ctx, bucket, a, d); err != nil {
			return err
		}
	}
	writing, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = bucket.Update(writing, b.prefix+key, value, was.Revision)
	switch {
	case errors.Is(err, engine.ErrConflict) && d.Grows():
		return errors.Join(err, b.reserve(ctx, bucket, a, negative(d)))
	case err != nil || d.Grows():
		return err
	}
	b.release(ctx, bucket, a, d)
	return nil
}

// remove deletes a key if it has not changed since it was read.
func (b Bucket) remove(ctx context.Context, bucket engine.Bucket, a *account, key string) error {
	was, err := find(ctx, bucket, b.prefix+key)
	if err != nil || was.Revision == 0 {
		return err
	}
	if err := bucket.DeleteAt(ctx, b.prefix+key, was.Revision); err != nil {
		return err
	}
	b.release(ctx, bucket, a, entry.Usage{Bytes: -int64(len(key) + len(was.Data)), Keys: -1})
	return nil
}

// release gives back quota. If that fails, the change itself has succeeded nevertheless: the record
// is too high until a refusal counts everything, and the next call reports the engine's failure.
func (b Bucket) release(ctx context.Context, bucket engine.Bucket, a *account, d entry.Usage) {
	_ = b.reserve(ctx, bucket, a, d)
}

// find returns the value of a key. The revision is 0 if the key does not exist.
func find(ctx context.Context, bucket engine.Bucket, key string) (engine.Value, error) {
	v, err := bucket.Get(ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Value{}, nil
	}
	return v, err
}

// List returns the keys that begin with prefix, sorted.
func (b Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	bucket, err := b.store.openBucket(ctx)
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
