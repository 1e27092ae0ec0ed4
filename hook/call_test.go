package hook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestATimeoutNamesTheShorterLimit: of two nested calls, the error names the shorter timeout.
func TestATimeoutNamesTheShorterLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		inner := func(d time.Duration) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) {
				return Do(ctx, &Call{Plugin: "p", Name: "inner", Timeout: d}, wait)
			}
		}
		for _, c := range []struct {
			outer, inner time.Duration
			want         string
		}{
			{2 * time.Minute, 30 * time.Second, "timed out after 30s"},
			{10 * time.Second, 30 * time.Second, "timed out after 10s"},
		} {
			_, err := Do(t.Context(), &Call{Plugin: "p", Dialect: "d", Name: "m", Timeout: c.outer}, inner(c.inner))
			if !errors.Is(err, Timeout) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v in %v: %v", c.inner, c.outer, err)
			}
		}
	})
}
