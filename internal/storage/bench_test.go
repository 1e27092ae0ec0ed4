package storage

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
)

// BenchmarkList lists the keys of a plugin while another plugin stores 10,000.
func BenchmarkList(b *testing.B) {
	e := embedded.Engine(b, b.TempDir())
	s := New(func(context.Context) (engine.Store, error) { return e, nil })
	for name, keys := range map[string]int{"other": 10_000, "own10": 10, "own1000": 1000} {
		fill(b, s.Plugin(name, Quota{}), keys)
	}
	for _, name := range []string{"own10", "own1000", "other"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Plugin(name, Quota{}).List(b.Context(), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fill writes keys directly to the engine. Put would write them one by one, each with the plugin's
// record.
func fill(b *testing.B, plugin Bucket, keys int) {
	bucket, err := plugin.store.openBucket(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 1024)
	var writers sync.WaitGroup
	for w := range 32 {
		writers.Go(func() {
			for i := w; i < keys; i += 32 {
				if _, err := bucket.Put(b.Context(), fmt.Sprintf("%s%05d", plugin.prefix, i), value); err != nil {
					b.Error(err)
				}
			}
		})
	}
	writers.Wait()
}
