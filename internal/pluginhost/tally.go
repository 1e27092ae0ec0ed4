package pluginhost

import (
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// A tally counts what happens to one plugin in all hosts where it runs: a daemon that works in
// several projects runs the plugin once in each. The counts stay when one of these hosts is closed.
type tally struct {
	hook.Counters

	mu      sync.Mutex // protects the fields below
	running map[dialect.Plugin]struct{}
	ended   dialect.Status         // the counts of closed plugins
	said    []dialect.Notification // the last notifications of closed plugins, oldest first
	denied  []Denied               // the last denials, oldest first
}

// A Denied counts how often a plugin's sandbox refused one look-up or connection.
type Denied struct {
	Time   time.Time `json:"time" doc:"When it last happened." example:"2026-11-16T06:00:19Z"`
	What   string    `json:"what" doc:"What it tried." example:"connection to 192.0.2.7:443"`
	Detail string    `json:"detail" doc:"The capability that would have allowed it; may be empty." example:"net:192.0.2.7:443"`
	Count  int       `json:"count" doc:"How often." example:"3"`
}

// keptDenials is how many different denials of a plugin are stored.
const keptDenials = 50

// deny records a denial. Equal denials are stored once, with a count and the time of the last.
func (t *tally) deny(d sandbox.Denial) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := Denied{Time: time.Now().UTC(), What: d.What, Detail: d.Capability, Count: 1}
	if i := slices.IndexFunc(t.denied, func(o Denied) bool { return o.What == now.What && o.Detail == now.Detail }); i >= 0 {
		now.Count += t.denied[i].Count
		t.denied = slices.Delete(t.denied, i, i+1)
	}
	t.denied = append(t.denied, now)
	t.denied = t.denied[max(0, len(t.denied)-keptDenials):]
}

func (t *tally) denials() []Denied {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.denied)
}

// keptNotifications is how many notifications of a plugin are stored. A dialect stores as many for
// each process.
const keptNotifications = 100

// join starts counting for a plugin that was opened.
func (t *tally) join(p dialect.Plugin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = make(map[dialect.Plugin]struct{})
	}
	t.running[p] = struct{}{}
}

// leave adds the counts of a plugin that is about to be closed to t.ended.
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

// notifications returns the last notifications of a plugin from all hosts, oldest first.
func (t *tally) notifications() []dialect.Notification {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.said
	for p := range t.running {
		all = lastOf(all, p)
	}
	return slices.Clone(all)
}

// lastOf appends the notifications of a plugin to a list, and cuts it to the last ones.
func lastOf(said []dialect.Notification, p dialect.Plugin) []dialect.Notification {
	speaker, ok := p.(dialect.Notifier)
	if !ok {
		return said
	}
	all := slices.Concat(said, speaker.Notifications())
	slices.SortStableFunc(all, func(a, b dialect.Notification) int { return a.Time.Compare(b.Time) })
	return all[max(0, len(all)-keptNotifications):]
}

// count returns the current counts.
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

// tallies holds the tally of every plugin that was ever found, by dialect and path.
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
