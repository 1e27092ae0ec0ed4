package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// A Limiter keeps a notifier from sending the same event again and again (rate_limit_minutes).
// These are its rules for one agent, schedule and notifier:
//
//   - An event that was sent is not sent again before the time is up. The time is counted for each
//     event separately: an attempt_failed does not hold back a given_up.
//   - Events that are held back are counted, and the next message of that event says how many there
//     were.
//   - given_up and recovered are sent at once if they contradict the last message. So the last
//     message never says that something works, or is broken, when that is no longer true.
//   - A recovery is therefore sent if its failure was sent. An agent that fails and recovers again
//     and again, and whose failures are held back, sends nothing.
//   - A message that could not be sent does not count.
//
// A Limiter is safe for concurrent use, also by several machines on the same marks: at worst both
// of them send.
//
// For a message that this process has sent, the elapsed time is measured and not computed from the
// time of day. So setting the clock has no effect on it. For messages of another process, or from
// before a restart, the time of day is used.
type Limiter struct {
	marks   Marks
	now     func() time.Time
	elapsed func() time.Duration // a monotonic clock; nil: there is none

	mu   sync.Mutex // protects sent
	sent map[string]sentMark
}

// A sentMark records when this process last sent an event.
type sentMark struct {
	at      time.Time     // as in the mark
	elapsed time.Duration // by Limiter.elapsed
}

// maxSent limits how many events are remembered. No user has so many schedules with notifiers.
const maxSent = 1 << 14

// NewLimiter makes a limiter that stores its marks in m. now is the clock; nil: the system's.
func NewLimiter(m Marks, now func() time.Time) *Limiter {
	l := &Limiter{marks: m, now: now, sent: make(map[string]sentMark)}
	if now == nil {
		start := time.Now()
		l.now, l.elapsed = time.Now, func() time.Duration { return time.Since(start) }
	}
	return l
}

// remember records that this process has sent an event.
func (l *Limiter) remember(q LimitRequest, at time.Time) {
	if l.elapsed == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sent) >= maxSent {
		clear(l.sent) // the time of day is used instead
	}
	l.sent[q.Key+"\x00"+q.Event] = sentMark{at, l.elapsed()}
}

// nowFor returns the present time. If this process sent the event last, it is the time that the
// clock would show if it had not been set since then.
func (l *Limiter) nowFor(q LimitRequest, last time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sent[q.Key+"\x00"+q.Event]; ok && s.at.Equal(last) {
		return last.Add(l.elapsed() - s.elapsed)
	}
	return l.now()
}

// A LimitRequest asks whether an event may be sent.
type LimitRequest struct {
	Key   string        // identifies agent, schedule and notifier
	Event string        // the time is counted for each event separately
	Every time.Duration // 0: always
}

// A Decision says whether an event may be sent, and how many were held back before.
type Decision struct {
	Send       bool
	Suppressed int
	Since      time.Time // when the event was last sent; zero: never
}

// Allow decides whether an event may be sent. It counts an event that may not. If the marks cannot
// be read or written, it allows the event and returns the error: a message that is sent twice is
// better than none.
func (l *Limiter) Allow(ctx context.Context, q LimitRequest) (Decision, error) {
	answer := Decision{Send: true}
	if q.Every <= 0 {
		return answer, nil
	}
	err := l.change(ctx, q.Key, func(m *mark) bool {
		answer = m.decide(q, l.nowFor(q, m.Events[q.Event].At))
		if answer.Send {
			return false
		}
		told := m.Events[q.Event]
		told.Suppressed++
		m.Events[q.Event] = told
		return true
	})
	if err != nil {
		return Decision{Send: true}, err
	}
	return answer, nil
}

// RecordSent records that an event was sent after Allow had allowed it.
func (l *Limiter) RecordSent(ctx context.Context, q LimitRequest, a Decision) error {
	if q.Every <= 0 {
		return nil
	}
	at := l.now().Round(0) // without the monotonic clock, as it will be read again
	l.remember(q, at)
	return l.change(ctx, q.Key, func(m *mark) bool {
		// Events that another machine has held back since Allow are left for the next message.
		m.Events[q.Event] = eventMark{At: at, Suppressed: max(m.Events[q.Event].Suppressed-a.Suppressed, 0)}
		if s := stateAfter(q.Event); s != "" {
			m.Last = s
		}
		return true
	})
}

// change calls f with the mark of a key, and stores the mark if f returns true.
func (l *Limiter) change(ctx context.Context, key string, f func(*mark) bool) error {
	err := l.marks.Change(ctx, key, func(old []byte) ([]byte, error) {
		m := readMark(old)
		if !f(&m) {
			return nil, nil
		}
		return json.Marshal(m)
	})
	if err != nil {
		return fmt.Errorf("rate limit of notifications: %w", err)
	}
	return nil
}

// A mark is the stored state of one key.
type mark struct {
	Last   state                `json:"last,omitempty"` // what the last message said
	Events map[string]eventMark `json:"events"`
}

// An eventMark is the stored state of one event.
type eventMark struct {
	At         time.Time `json:"at"` // when it was last sent; zero: it was held back and never sent
	Suppressed int       `json:"suppressed,omitempty"`
}

// readMark decodes a mark. A mark that cannot be read counts as empty, since marks only hold
// messages back.
func readMark(data []byte) mark {
	var m mark
	if json.Unmarshal(data, &m) != nil || len(m.Events) > maxEvents {
		m = mark{}
	}
	if m.Events == nil {
		m.Events = make(map[string]eventMark)
	}
	return m
}

// maxEvents bounds a mark. There are seven events.
const maxEvents = 32

// A state is the state of a schedule according to the last message.
type state string

const (
	failing state = "failing" // being tried again
	broken  state = "broken"  // given up
	fine    state = "fine"
)

// stateAfter returns the state that an event reports, or "" if it reports none.
func stateAfter(event string) state {
	switch event {
	case AttemptFailed, TimedOut, Stale:
		return failing
	case GivenUp:
		return broken
	case Recovered:
		return fine
	}
	return ""
}

// decide applies the rules of [Limiter].
func (m *mark) decide(q LimitRequest, now time.Time) Decision {
	last := m.Events[q.Event]
	a := Decision{Suppressed: last.Suppressed, Since: last.At}
	a.Send = passed(last.At, now, q.Every) || m.contradicts(q.Event)
	return a
}

// contradicts reports whether an event contradicts the last message.
func (m *mark) contradicts(event string) bool {
	switch event {
	case GivenUp:
		return m.Last == failing || m.Last == fine
	case Recovered:
		return m.Last == failing || m.Last == broken
	}
	return false
}

// passed reports whether the time is up. It is up if the clock was set back, so that no message is
// held back too long. It is up a little early, because a schedule that runs every hour is not exact
// to the second: with a limit of an hour each of its messages must pass.
func passed(last, now time.Time, every time.Duration) bool {
	slack := min(every/20, time.Minute)
	return last.IsZero() || now.Before(last) || now.Sub(last) >= every-slack
}
