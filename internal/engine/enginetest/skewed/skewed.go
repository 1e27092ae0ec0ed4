// Package skewed has a bucket of the engine whose clock jumps. It is only for tests.
package skewed

import (
	"context"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// A Bucket has a clock that jumps when a test says so.
type Bucket struct {
	engine.Bucket
	mu     sync.Mutex // protects the fields below
	skew   time.Duration
	stamps map[uint64]time.Duration // by revision
}

// New returns a bucket whose clock is right until it jumps.
func New(b engine.Bucket) *Bucket { return &Bucket{Bucket: b, stamps: make(map[uint64]time.Duration)} }

// Jump moves the clock. Values that were written before keep their times.
func (b *Bucket) Jump(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.skew += d
}

func (b *Bucket) note(revision uint64, err error) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stamps[revision] = b.skew
	return revision, err
}

// Create writes a key that does not exist.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) (uint64, error) {
	return b.note(b.Bucket.Create(ctx, key, data))
}

// Put writes a key.
func (b *Bucket) Put(ctx context.Context, key string, data []byte) (uint64, error) {
	return b.note(b.Bucket.Put(ctx, key, data))
}

// Update writes a key that has the given revision.
func (b *Bucket) Update(ctx context.Context, key string, data []byte, revision uint64) (uint64, error) {
	return b.note(b.Bucket.Update(ctx, key, data, revision))
}

// Get reads a key, with the time that the clock showed when it was written.
func (b *Bucket) Get(ctx context.Context, key string) (engine.Value, error) {
	v, err := b.Bucket.Get(ctx, key)
	b.mu.Lock()
	defer b.mu.Unlock()
	v.Time = v.Time.Add(b.stamps[v.Revision])
	return v, err
}

// Now returns the time that the clock shows.
func (b *Bucket) Now(ctx context.Context) (time.Time, error) {
	now, err := b.Bucket.Now(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Add(b.skew), err
}
