package engine

import (
	"context"
	"errors"
)

// manyKeys is how many keys one request asks for. The server allows 1024 (maxAllowedResponses in
// its stream.go).
const manyKeys = 256

// GetAll implements [Bucket].
func (b *bucket) GetAll(ctx context.Context, keys []string) ([]Value, error) {
	values := make([]Value, 0, len(keys))
	for len(keys) > 0 {
		n := min(len(keys), manyKeys)
		some, err := b.getSome(ctx, keys[:n])
		if err != nil {
			return nil, err
		}
		values, keys = append(values, some...), keys[n:]
	}
	return values, nil
}

// getSome asks for all keys with one request if there is only one copy. In a cluster it asks the
// leader for one key at a time, because other servers may not have the latest writes.
func (b *bucket) getSome(ctx context.Context, keys []string) ([]Value, error) {
	if !b.exact {
		return b.getEach(ctx, keys)
	}
	subjects := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if subjects[i], err = b.subject(key); err != nil {
			return nil, err
		}
	}
	found := make(map[string]Value, len(keys))
	err := b.link.gather(ctx, func(ctx context.Context, over <-chan struct{}) error { return b.getMany(ctx, over, subjects, found) })
	if err != nil {
		return nil, err
	}
	values := make([]Value, 0, len(found))
	for _, key := range keys {
		if v, ok := found[key]; ok && !v.Deleted {
			values = append(values, v)
		}
	}
	return values, nil
}

func (b *bucket) getEach(ctx context.Context, keys []string) ([]Value, error) {
	var values []Value
	for _, key := range keys {
		v, err := b.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// getMany asks for the subjects, and again for those that did not fit into the answer.
func (b *bucket) getMany(ctx context.Context, over <-chan struct{}, subjects []string, found map[string]Value) error {
	r := &batch{backing: b.backing, most: len(subjects), among: subjects}
	var bad error
	r.f = func(m stored) bool {
		var v Value
		if v, bad = b.value(m); bad == nil {
			found[v.Key] = v
		}
		return bad == nil
	}
	for {
		if err := errors.Join(r.run(ctx, over), bad); err != nil || r.pending == 0 {
			return err
		}
	}
}
