package engine

import (
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestBucketClock checks that values get their times from the clock that Now returns, with one
// server and with several.
func TestBucketClock(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		b := openBucket(t, e, BucketConfig{Name: "clock"})
		now := func() time.Time {
			t.Helper()
			at, err := b.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		before := now()
		if _, err := b.Put(t.Context(), "k", nil); err != nil {
			t.Fatal(err)
		}
		after := now()
		v, err := b.Get(t.Context(), "k")
		if err != nil || v.Time.Before(before) || v.Time.After(after) {
			t.Errorf("written at %v, between %v and %v: %v", v.Time, before, after, err)
		}
		values, err := b.Values(t.Context(), "")
		if err != nil || len(values) != 1 || !values[0].Time.Equal(v.Time) {
			t.Errorf("listed %+v, %v", values, err)
		}
	})
}

// TestBucketLosesItsTTL checks that a bucket that an earlier version created with a TTL keeps its
// values after it is opened without one.
func TestBucketLosesItsTTL(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		const ttl = time.Second
		openBucket(t, e, BucketConfig{Name: "limited", TTL: ttl})
		b := openBucket(t, e, BucketConfig{Name: "limited"})
		if _, err := b.Put(t.Context(), "k", nil); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "the time limit is over", func() bool {
			v, err := b.Get(t.Context(), "k")
			if err != nil {
				t.Fatalf("the value is gone: %v", err)
			}
			now, err := b.Now(t.Context())
			return err == nil && now.Sub(v.Time) > 2*ttl
		})
	})
}
