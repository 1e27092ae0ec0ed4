package feature

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// bucketName is what the engine knows the flags by.
const bucketName = "features"

// ErrUnknown is returned for a flag that there is not.
var ErrUnknown = errors.New("unknown feature")

// A Stage is how far a feature has come.
type Stage string

// The stages.
const (
	Experimental Stage = "experimental"
	Stable       Stage = "stable"
)

// Plugins is the flag of the plugins that are written over HTTP. Seed 004: "The plugin system must be enabled via
// feature flag".
const Plugins = "plugins"

// A Feature is a flag as it stands.
type Feature struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Stage       Stage  `json:"stage"`
	Default     bool   `json:"default"`
	Enabled     bool   `json:"enabled"`
}

// known are the flags at their defaults, by name.
func known() []Feature {
	return []Feature{
		// Seed 004, "Feature Flag": the description is the seed's.
		{Name: Plugins, Description: "Enable plugin system for agent customization", Stage: Experimental},
	}
}

// Features are the flags. They are safe for concurrent use.
type Features struct {
	engine engine.Store

	mu     sync.Mutex    // protects bucket
	bucket engine.Bucket // nil: not opened yet
}

// New makes the flags. It does no I/O.
func New(e engine.Store) *Features { return &Features{engine: e} }

// List returns all flags, by name.
func (f *Features) List(ctx context.Context) ([]Feature, error) {
	list := known()
	for i := range list {
		if err := f.read(ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Get returns a flag, or [ErrUnknown].
func (f *Features) Get(ctx context.Context, name string) (Feature, error) {
	flag, err := find(name)
	if err != nil {
		return Feature{}, err
	}
	if err := f.read(ctx, &flag); err != nil {
		return Feature{}, err
	}
	return flag, nil
}

// Set switches a flag and returns it, or [ErrUnknown].
func (f *Features) Set(ctx context.Context, name string, on bool) (Feature, error) {
	flag, err := find(name)
	if err != nil {
		return Feature{}, err
	}
	bucket, err := f.open(ctx)
	if err != nil {
		return Feature{}, err
	}
	if _, err := bucket.Put(ctx, name, strconv.AppendBool(nil, on)); err != nil {
		return Feature{}, fmt.Errorf("feature %s: %w", name, err)
	}
	flag.Enabled = on
	return flag, nil
}

// read fills in whether a flag is on.
func (f *Features) read(ctx context.Context, flag *Feature) error {
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

func find(name string) (Feature, error) {
	list := known()
	i := slices.IndexFunc(list, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		return Feature{}, fmt.Errorf("%w: %.64q", ErrUnknown, name)
	}
	return list[i], nil
}
