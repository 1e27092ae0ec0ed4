package lease

import (
	"context"
	"sync"
	"time"
)

// A Heartbeat is the last that was heard of a holder.
type Heartbeat struct {
	Revision uint64        // another one is another sign; 0: nothing was heard
	Age      time.Duration // by the engine's clock
}

// A Verdict is what a [Judge] says.
type Verdict int

// The verdicts.
const (
	Held   Verdict = iota
	Free           // whoever held it does so no more
	Unsure         // the last sign is old: ask again, for it may be the clock that jumped
	Ahead          // held, by a sign from the future: the clock was set back. Written again as it is, it has an age
)

// A Judge decides whether something that others hold may be taken. It is safe for concurrent use.
// Its zero value is none: TTL must be set.
type Judge struct {
	TTL time.Duration // a holder gives a sign every third of it

	mu    sync.Mutex // protects old
	stale map[string]staleBeat
}

// A staleBeat is an old sign, and since when the judge has seen no other. It goes by the monotonic
// clock.
type staleBeat struct {
	revision uint64
	since    time.Time
}

// Ask decides about what is held under a key. The error says why something cannot be taken from a
// holder that has died.
func (j *Judge) Ask(ctx context.Context, key string, h Holder, sign func(context.Context) (Heartbeat, error)) (Verdict, error) {
	if h.State() == Dead {
		j.forget(key)
		return Free, h.WaitForLeftovers(ctx)
	}
	s, err := sign(ctx)
	if err != nil {
		return Held, err
	}
	return j.judgeAge(key, s), nil
}

// Pause is how long to wait before asking again after [Unsure].
func (j *Judge) Pause() time.Duration { return j.TTL / 20 }

// judgeAge judges a holder of whom nothing but the last sign is known.
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
	case time.Since(seen.since) >= j.TTL*2/3: // in which a holder that lives gives two signs
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
