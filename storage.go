package patchbay

import (
	"context"
	"sync"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/storage"
)

// A keeper keeps what plugins store, in the engine that the configuration
// means. It is not opened before a plugin stores something: most never do.
type keeper struct {
	setup *setup
	store *storage.Store

	mu     sync.Mutex     // protects engine
	engine *engine.Engine // nil: not opened
}

func newKeeper(s *setup) *keeper {
	k := &keeper{setup: s}
	k.store = storage.New(k.open)
	return k
}

// plugin is one plugin's storage.
func (k *keeper) plugin(name string, limits config.Limits) dialect.Storage {
	quota := StorageQuota{Bytes: limits.Storage, Keys: limits.StorageKeys}
	if k.setup.Storage != nil {
		return k.setup.Storage(name, quota)
	}
	return k.store.Plugin(name, quota)
}

func (k *keeper) open(ctx context.Context) (engine.Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.engine != nil {
		return k.engine, nil
	}
	o, err := engine.Configured(k.setup.dirs, k.setup.config.Engine)
	if err != nil {
		return nil, err
	}
	o.Logger = k.setup.Logger
	e, err := engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	k.engine = e
	return e, nil
}

func (k *keeper) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.engine == nil {
		return nil
	}
	return k.engine.Close()
}
