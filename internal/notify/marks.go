package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// Marks store the marks of a [Limiter]. Implementations are safe for concurrent use.
type Marks interface {
	// Change replaces the value of a key by what f returns, atomically. f gets nil if there is no
	// value, and returns nil to leave the value as it is. f is called again if another process
	// changed the value meanwhile.
	Change(ctx context.Context, key string, f func(old []byte) ([]byte, error)) error
}

// InMemory returns marks that are lost when the process ends.
func InMemory() Marks { return &memory{values: make(map[string][]byte)} }

type memory struct {
	mu     sync.Mutex // protects values
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

// InBucket returns marks that outlast the process and that all processes on the same engine share.
// The bucket should have a TTL that is longer than any limit, so that the marks of deleted agents
// go away.
func InBucket(b engine.Bucket) Marks { return bucket{b} }

type bucket struct{ engine.Bucket }

// maxConflicts bounds how often a change is tried. Conflicts are rare: two machines would have to
// send a message about the same schedule at the same moment.
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
