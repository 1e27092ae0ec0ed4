package main

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// longestStay is how many events a restless follower reads at most before it leaves.
const longestStay = 5000

// A watcher follows all events from the first, and compares each id with the one before.
type watcher struct {
	name     string
	restless bool // leaves and comes back
	client   *drive.Client
	ledger   *ledger

	last    atomic.Uint64 // id
	events  atomic.Int64
	returns atomic.Int64
}

// watch follows until ctx ends. A stream that the daemon ends is a fault.
func (w *watcher) watch(ctx context.Context) {
	for ctx.Err() == nil {
		stay := -1
		if w.restless {
			stay = 1 + rand.IntN(longestStay)
		}
		after := w.last.Load()
		err := w.client.Follow(ctx, &after, func(e drive.Event) error {
			w.checkEvent(e)
			if stay--; stay == 0 {
				return drive.ErrEnough
			}
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.ledger.fault("stream broken", "%s after %d: %v", w.name, w.last.Load(), err)
			time.Sleep(time.Second) // as a browser would
		}
		w.returns.Add(1)
	}
}

// checkEvent compares an event with the one before and with what other followers saw.
func (w *watcher) checkEvent(e drive.Event) {
	if e.ID == 0 {
		w.ledger.fault("gap told", "%s after %d: %s %.200s", w.name, w.last.Load(), e.Kind, e.Data)
		return
	}
	switch e.Kind {
	case "events.dropped":
		w.ledger.fault("events dropped", "%s", e.Data)
	case "events.unreadable":
		w.ledger.fault("event unreadable", "%d: %s", e.ID, e.Data)
	}
	last := w.last.Load()
	if e.ID <= last {
		w.ledger.fault("seen twice", "%s: %d after %d", w.name, e.ID, last)
		return
	}
	session, turn := names(e)
	if !w.ledger.note(e, session, turn, crc32.ChecksumIEEE([]byte(e.Data))) {
		w.ledger.fault("seen otherwise", "%s: %d differs from what another follower saw", w.name, e.ID)
	}
	for id := last + 1; id < e.ID; id++ {
		w.hole(id)
	}
	w.events.Add(1)
	w.last.Store(e.ID)
}

// hole counts a fault for a missing id, unless it belongs to a deleted session.
func (w *watcher) hole(id uint64) {
	if w.ledger.excuse(id) {
		w.ledger.excused.Add(1)
		return
	}
	was, _ := w.ledger.at(id) // the kind is empty if no other follower has seen it
	w.ledger.fault("hole", "%s: %d (%s) was not sent", w.name, id, was.kind)
}

// names returns the session and the turn of an event, or empty strings. The data of session.created
// is the session itself. That event is deleted with the session; session.deleted is not.
func names(e drive.Event) (session, turn string) {
	var data struct {
		ID      string `json:"id"`
		Session string `json:"session_id"`
		Turn    string `json:"turn"`
	}
	if json.Unmarshal([]byte(e.Data), &data) != nil {
		return "", "" // the data of some kinds of events has another form
	}
	if e.Kind == "session.created" {
		return data.ID, ""
	}
	return data.Session, data.Turn
}
