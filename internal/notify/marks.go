package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// Marks are where a [Limiter] remembers. Implementations are safe for concurrent use.
type Marks interface {
	// Change replaces what is kept under a key by what f makes of it, atomically. f gets nil where
	// nothing is kept, and returns nil to leave it as it is. It is called again where somebody else
	// was faster.
	Change(ctx context.Context, key string, f func(old []byte) ([]byte, error)) error
}

// InMemory returns marks that end with the process.
func InMemory() Marks { return &memory{values: make(map[string][]byte)} }

type memory struct {
	mu     sync.Mutex // protects kept
	values map[string][]byte
}

func (m *memory) Change(_ context.Context, key string, f func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, err := f(m.values[key])
	if err != nil || data == nil {
		return err
	}
	m.values[key] = data
	return nil
}

// InBucket returns marks that outlast the process and are shared by all that share the engine. The
// bucket should have a TTL longer than any limit, so that marks of agents that are gone go too.
func InBucket(b engine.Bucket) Marks { return bucket{b} }

type bucket struct{ engine.Bucket }

// maxConflicts bounds how often a change is tried. Two machines that tell the same person of the
// same schedule at the same moment are rare; so many in a row are a fault.
const maxConflicts = 8

func (b bucket) Change(ctx context.Context, key string, f func([]byte) ([]byte, error)) error {
	for range maxConflicts {
		err := b.once(ctx, key, f)
		if !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrUncertain) {
			return err
		}
	}
	return fmt.Errorf("%w, %d times in a row", engine.ErrConflict, maxConflicts)
}

func (b bucket) once(ctx context.Context, key string, f func([]byte) ([]byte, error)) error {
	v, err := b.Get(ctx, key)
	absent := errors.Is(err, engine.ErrNotFound)
	if err != nil && !absent {
		return err
	}
	data, err := f(v.Data)
	switch {
	case err != nil || data == nil:
		return err
	case absent:
		_, err = b.Create(ctx, key, data)
	default:
		_, err = b.Update(ctx, key, data, v.Revision)
	}
	return err
}
