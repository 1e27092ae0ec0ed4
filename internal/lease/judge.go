package lease

import (
	"context"
	"sync"
	"time"
)

// A Heartbeat is the last heartbeat of a holder.
type Heartbeat struct {
	Revision uint64        // changes with every heartbeat; 0: there is none
	Age      time.Duration // by the engine's clock
}

// A Verdict is the answer of a [Judge].
type Verdict int

// The verdicts.
const (
	Held   Verdict = iota
	Free           // the holder no longer holds it
	Unsure         // the last heartbeat is old, or the clock was set forward: ask again
	Ahead          // held, but the heartbeat is from the future: the clock was set back. Write the heartbeat again, so that it gets an age
)

// A Judge decides whether something that another process holds may be taken. It is safe for
// concurrent use. TTL must be set.
type Judge struct {
	TTL time.Duration // a holder writes a heartbeat every third of the TTL

	mu    sync.Mutex // protects stale
	stale map[string]staleBeat
}

// A staleBeat is an old heartbeat. since is when the judge began to wait for a newer one, by the
// monotonic clock.
type staleBeat struct {
	revision uint64
	since    time.Time
}

// Ask decides about the holder h of a key; lastBeat returns its last heartbeat. [Free] with an
// error means that h has died, but nothing may be taken over yet: processes that h started may
// still run. [Held] with an error means that lastBeat failed.
func (j *Judge) Ask(ctx context.Context, key string, h Holder, lastBeat func(context.Context) (Heartbeat, error)) (Verdict, error) {
	if h.State() == Dead {
		j.forget(key)
		return Free, h.EndLeftovers(ctx)
	}
	s, err := lastBeat(ctx)
	if err != nil {
		return Held, err
	}
	return j.judgeAge(key, s), nil
}

// Pause returns how long to wait after [Unsure] before calling [Judge.Ask] again.
func (j *Judge) Pause() time.Duration { return j.TTL / 20 }

// judgeAge decides by the last heartbeat alone.
func (j *Judge) judgeAge(key string, s Heartbeat) Verdict {
	if s.Revision != 0 && s.Age <= j.TTL {
		j.forget(key)
		if s.Age < -j.TTL {
			return Ahead
		}
		return Held
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	seen, ok := j.stale[key]
	switch {
	case !ok || seen.revision != s.Revision:
		if j.stale == nil {
			j.stale = make(map[string]staleBeat)
		}
		j.stale[key] = staleBeat{s.Revision, time.Now()}
	case time.Since(seen.since) >= j.TTL*2/3: // a living holder writes two heartbeats in this time
		delete(j.stale, key)
		return Free
	}
	return Unsure
}

func (j *Judge) forget(key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.stale, key)
}
