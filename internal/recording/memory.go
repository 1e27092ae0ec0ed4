package recording

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

// Memory is the storage of plugins during a replay. It begins empty and ends with the replay, so
// that the real storage is not changed.
type Memory struct {
	mu      sync.Mutex // protects plugins and their contents
	plugins map[string]*memoryBucket
}

// Plugin returns the storage of one plugin.
func (m *Memory) Plugin(plugin string, q dialect.StorageQuota) dialect.Storage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plugins == nil {
		m.plugins = make(map[string]*memoryBucket)
	}
	if m.plugins[plugin] == nil {
		m.plugins[plugin] = &memoryBucket{plugin: plugin, quota: entry.Quota(q).Whole(), mu: &m.mu, values: make(map[string]json.RawMessage)}
	}
	return m.plugins[plugin]
}

type memoryBucket struct {
	plugin string
	quota  entry.Quota
	mu     *sync.Mutex // protects the fields below
	values map[string]json.RawMessage
	used   entry.Usage
}

func (b *memoryBucket) Get(_ context.Context, key string) (json.RawMessage, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.values[key]
	return v, ok, entry.CheckKey(key)
}

func (b *memoryBucket) Put(_ context.Context, key string, value json.RawMessage) error {
	if err := entry.CheckKey(key); err != nil {
		return err
	}
	if err := entry.CheckValue(value); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	more := entry.Usage{Bytes: int64(len(key) + len(value)), Keys: 1}
	if old, ok := b.values[key]; ok {
		more = entry.Usage{Bytes: int64(len(value) - len(old))}
	}
	if more.Grows() && !b.used.Fits(more, b.quota) {
		return b.quota.Full(b.plugin, b.used, more)
	}
	b.used = b.used.Plus(more)
	b.values[key] = slices.Clone(value)
	return nil
}

func (b *memoryBucket) Delete(_ context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, ok := b.values[key]; ok {
		b.used = b.used.Plus(entry.Usage{Bytes: -int64(len(key) + len(old)), Keys: -1})
		delete(b.values, key)
	}
	return entry.CheckKey(key)
}

func (b *memoryBucket) List(_ context.Context, prefix string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := []string{}
	for key := range b.values {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
