package hook

import (
	"context"
	"slices"
	"sync"
)

// notify calls all hooks at once, but hooks with the same queue one after another. Answers change
// nothing. Failures change nothing either, but each is recorded in its step. notify returns after
// all hooks have returned.
func (f *firing) notify(ctx context.Context, hooks []*Hook) error {
	hooks = slices.DeleteFunc(slices.Clone(hooks), func(h *Hook) bool { return !f.matches(h) })
	steps := f.out.Steps[:len(hooks)] // there is room for all of them; each goroutine writes the steps of its queue
	var told sync.WaitGroup
	for _, queue := range queues(hooks) {
		told.Go(func() {
			for _, i := range queue {
				f.call(ctx, hooks[i], &steps[i])
			}
		})
	}
	told.Wait()
	f.out.Steps = steps
	return nil
}

// queues groups the indexes of the hooks: those in one group are called one after another.
func queues(hooks []*Hook) [][]int {
	var all [][]int
	at := make(map[string]int)
	for i, h := range hooks {
		n, known := at[h.Queue]
		if h.Queue == "" || !known {
			n = len(all)
			all, at[h.Queue] = append(all, nil), n
		}
		all[n] = append(all[n], i)
	}
	return all
}
