// Package pause waits for a time that a context may cut short. It imports nothing of the module.
package pause

import (
	"context"
	"time"
)

// For waits for d. If ctx ends first, it returns the context's error at once.
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
