package pluginhost

import (
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// A tally counts what happened to one plugin, in all the places where it runs: a host that works in several projects runs it once
// in each. It goes on counting when a place is closed.
type tally struct {
	hook.Counters

	mu      sync.Mutex // protects the fields below
	running map[dialect.Plugin]struct{}
	ended   dialect.Status         // the counts of those that were closed
	said    []dialect.Notification // the last ones of these, oldest first
}

// keptNotifications is how many of a plugin's notifications are listed: as many as one of its processes has kept for it.
const keptNotifications = 100

// join counts for a plugin that was opened.
func (t *tally) join(p dialect.Plugin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = make(map[dialect.Plugin]struct{})
	}
	t.running[p] = struct{}{}
}

// leave keeps the counts of a plugin that is about to be closed.
func (t *tally) leave(p dialect.Plugin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.running[p]; !ok {
		return
	}
	delete(t.running, p)
	status := p.Status()
	t.ended.Restarts += status.Restarts
	t.ended.Notifications += status.Notifications
	t.ended.NotificationsDropped += status.NotificationsDropped
	t.said = lastOf(t.said, p)
}

// notifications are the last ones of a plugin, wherever it runs or ran, oldest first.
func (t *tally) notifications() []dialect.Notification {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.said
	for p := range t.running {
		all = lastOf(all, p)
	}
	return slices.Clone(all)
}

// lastOf adds what a plugin said to what was said before, and keeps the last.
func lastOf(said []dialect.Notification, p dialect.Plugin) []dialect.Notification {
	speaker, ok := p.(dialect.Notifier)
	if !ok {
		return said
	}
	all := slices.Concat(said, speaker.Notifications())
	slices.SortStableFunc(all, func(a, b dialect.Notification) int { return a.Time.Compare(b.Time) })
	return all[max(0, len(all)-keptNotifications):]
}

// count reads the counters.
func (t *tally) count() Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := Counters{Calls: t.Calls.Load(), Errors: t.Errors.Load(), Timeouts: t.Timeouts.Load(),
		Restarts: t.ended.Restarts, Notifications: t.ended.Notifications, NotificationsDropped: t.ended.NotificationsDropped}
	for p := range t.running {
		status := p.Status()
		c.Restarts += status.Restarts
		c.Notifications += status.Notifications
		c.NotificationsDropped += status.NotificationsDropped
	}
	return c
}

// tallies are those of every plugin that was ever opened, by where it is.
type tallies struct {
	mu  sync.Mutex // protects all
	all map[string]*tally
}

func (t *tallies) of(f dialect.Found) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[string]*tally)
	}
	key := f.Dialect + "\x00" + f.Path
	if t.all[key] == nil {
		t.all[key] = &tally{}
	}
	return t.all[key]
}
