package hook

import (
	"context"
	"slices"
	"sync"
)

// notify: all at once; nobody's answer or failure changes anything, but every
// failure is recorded. It returns when all have been told, so that none is lost.
func (f *firing) notify(ctx context.Context, hooks []*Hook) error {
	hooks = slices.DeleteFunc(slices.Clone(hooks), func(h *Hook) bool { return !f.concerns(h) })
	steps := f.out.Steps[:len(hooks)] // there is room for all of them; each goroutine owns one
	var told sync.WaitGroup
	for i, h := range hooks {
		told.Go(func() { f.call(ctx, h, &steps[i]) })
	}
	told.Wait()
	f.out.Steps = steps
	return nil
}
