// Package pause waits as long as somebody wants it to. It knows nothing about what is waited for
// and imports nothing of the module.
package pause

import (
	"context"
	"time"
)

// For waits a while. It ends early, with the context's error, where that ends first.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
