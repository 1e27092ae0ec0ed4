package featurestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/feature"
)

// bucketName is the name of the engine's bucket with the flags.
const bucketName = "features"

// Features stores the flags. It is safe for concurrent use.
type Features struct {
	engine engine.Store

	mu     sync.Mutex    // protects bucket
	bucket engine.Bucket // nil: not opened yet
}

// New returns the flags that are stored in e. It does no I/O.
func New(e engine.Store) *Features { return &Features{engine: e} }

// List returns all flags, sorted by name.
func (f *Features) List(ctx context.Context) ([]feature.Feature, error) {
	list := feature.Known()
	for i := range list {
		if err := f.read(ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Get returns a flag, or [feature.ErrUnknown].
func (f *Features) Get(ctx context.Context, name string) (feature.Feature, error) {
	flag, err := feature.Find(name)
	if err != nil {
		return feature.Feature{}, err
	}
	if err := f.read(ctx, &flag); err != nil {
		return feature.Feature{}, err
	}
	return flag, nil
}

// Set switches a flag and returns it, or [feature.ErrUnknown].
func (f *Features) Set(ctx context.Context, name string, on bool) (feature.Feature, error) {
	flag, err := feature.Find(name)
	if err != nil {
		return feature.Feature{}, err
	}
	bucket, err := f.open(ctx)
	if err != nil {
		return feature.Feature{}, err
	}
	if _, err := bucket.Put(ctx, name, strconv.AppendBool(nil, on)); err != nil {
		return feature.Feature{}, fmt.Errorf("feature %s: %w", name, err)
	}
	flag.Enabled = on
	return flag, nil
}

// read sets flag.Enabled.
func (f *Features) read(ctx context.Context, flag *feature.Feature) error {
	bucket, err := f.open(ctx)
	if err != nil {
		return err
	}
	v, err := bucket.Get(ctx, flag.Name)
	if errors.Is(err, engine.ErrNotFound) { // never set
		flag.Enabled = flag.Default
		return nil
	}
	if err == nil {
		flag.Enabled, err = strconv.ParseBool(string(v.Data))
	}
	if err != nil {
		return fmt.Errorf("feature %s: %w", flag.Name, err)
	}
	return nil
}

func (f *Features) open(ctx context.Context) (engine.Bucket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bucket != nil {
		return f.bucket, nil
	}
	bucket, err := f.engine.Bucket(ctx, engine.BucketConfig{Name: bucketName})
	if err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	f.bucket = bucket
	return bucket, nil
}
