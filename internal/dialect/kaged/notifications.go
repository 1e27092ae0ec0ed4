package kaged

import (
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	keptNotifications = 100  // how many are stored
	keptName          = 200  // bytes of each name
	keptParams        = 2048 // bytes of the params of each, so that a plugin cannot fill the host's memory
	loggedParams      = 200  // bytes of the params in the log
	warnedNames       = 100  // the number of undeclared names that are warned about
)

// notifications stores the last notifications of a plugin, logs them, and passes on those that the
// manifest declares: docs/protocols/kaged.md, row K80. [wire.Peer] has already dropped those over
// the rate limit.
type notifications struct {
	log      *slog.Logger
	declared []string
	pass     func(dialect.Notification) // is called with each declared one; may be nil
	passed   atomic.Int64               // the number received
	dropped  atomic.Int64

	mu     sync.Mutex             // protects the fields below
	last   []dialect.Notification // oldest first
	warned map[string]bool        // undeclared names that were warned about
}

// take is called with each notification, in order.
func (n *notifications) take(method string, params json.RawMessage) {
	declared := slices.Contains(n.declared, method)
	method = head(method, keptName)
	one := dialect.Notification{Time: time.Now().UTC(), Method: method, Params: shown(params), Declared: declared}
	n.passed.Add(1)
	n.keep(one)
	if declared {
		n.log.Info("plugin notification", "method", method, "params", head(string(params), loggedParams))
		if n.pass != nil {
			n.pass(one)
		}
		return
	}
	if n.first(method) {
		n.log.Warn("plugin notification that the manifest does not declare", "method", method,
			"params", head(string(params), loggedParams), "fix", "list it in notifications of the manifest, or do not send it")
	}
}

// shown returns a notification's params. Long ones are replaced by a string with their beginning.
func shown(params json.RawMessage) json.RawMessage {
	switch {
	case len(params) == 0:
		return json.RawMessage("null")
	case len(params) > keptParams:
		return rawjson.String(head(string(params), keptParams/2)) // half, because each quote becomes two bytes
	}
	return params
}

func (n *notifications) keep(one dialect.Notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.last) == keptNotifications {
		n.last = slices.Delete(n.last, 0, 1)
	}
	n.last = append(n.last, one)
}

// first reports whether this undeclared name is new and deserves a warning.
func (n *notifications) first(method string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.warned[method] || len(n.warned) >= warnedNames {
		return false
	}
	if n.warned == nil {
		n.warned = make(map[string]bool)
	}
	n.warned[method] = true
	return true
}

// drop counts the notifications that the rate limit dropped. [wire.Peer] calls it at most once a
// second.
func (n *notifications) drop(count int) {
	total := n.dropped.Add(int64(count))
	n.log.Warn("plugin notifications dropped: over the rate limit", "dropped", count, "total", total, "limit", notifyRate)
}

func (n *notifications) all() []dialect.Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.last)
}

// head shortens text of a plugin to its beginning.
func head(s string, most int) string { return excerpt.Of(s, most) }
