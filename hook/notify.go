package hook

import (
	"context"
	"slices"
	"sync"
)

// notify: all at once, but for hooks of one queue, which are told one after another; nobody's
// answer or failure changes anything, but every failure is recorded. It returns when all have been
// told, so that none is lost.
func (f *firing) notify(ctx context.Context, hooks []*Hook) error {
	hooks = slices.DeleteFunc(slices.Clone(hooks), func(h *Hook) bool { return !f.matches(h) })
	steps := f.out.Steps[:len(hooks)] // there is room for all of them; each goroutine owns those of its queue
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

// queues divides hooks, by their index, into those that are told one after another.
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
