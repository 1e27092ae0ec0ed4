package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// A Limiter keeps one notifier from telling the same thing again and again (rate_limit_minutes).
// Its rules, for one agent, schedule and notifier:
//
//   - An event that was told is not told again before the time is up. Each event has a time of its own: that an attempt
//     failed does not hold back that the run was given up.
//   - What is held back is counted, and the next message of that event tells how many there were.
//   - given_up and recovered are ends. One that contradicts what was told last is told whatever the time: nobody is left
//     to believe that something works, or is broken, when it is not so any more.
//   - So a recovery is told if its failure was, and a flapping agent whose failures are held back is quiet altogether.
//   - What could not be sent was not told.
//
// It is safe for concurrent use, and by several machines on the same marks: at worst both of them
// tell.
//
// The time since a message that this process has sent is measured, not computed from the time of
// day: a clock that jumps neither silences anybody nor lets everything through. Only for a message
// that another process has sent, or this one before it was restarted, the time of day must do.
type Limiter struct {
	marks   Marks
	now     func() time.Time
	elapsed func() time.Duration // a clock that never jumps; nil: there is none

	mu   sync.Mutex // protects sent
	sent map[string]sentMark
}

// A sentMark is the last message of an event that this process has sent.
type sentMark struct {
	at      time.Time     // as the mark has it
	elapsed time.Duration // by passes
}

// maxSent bounds what is remembered; more schedules with notifiers than anybody has.
const maxSent = 1 << 14

// NewLimiter keeps its marks in m. now is the clock; nil: the system's.
func NewLimiter(m Marks, now func() time.Time) *Limiter {
	l := &Limiter{marks: m, now: now, sent: make(map[string]sentMark)}
	if now == nil {
		start := time.Now()
		l.now, l.elapsed = time.Now, func() time.Duration { return time.Since(start) }
	}
	return l
}

// remember notes that this process has sent a message.
func (l *Limiter) remember(q LimitRequest, at time.Time) {
	if l.elapsed == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sent) >= maxSent {
		clear(l.sent) // the time of day must do
	}
	l.sent[q.Key+"\x00"+q.Event] = sentMark{at, l.elapsed()}
}

// nowFor is the time of day as it would be if the clock had not jumped since the event was told
// last, where this process has told it.
func (l *Limiter) nowFor(q LimitRequest, last time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sent[q.Key+"\x00"+q.Event]; ok && s.at.Equal(last) {
		return last.Add(l.elapsed() - s.elapsed)
	}
	return l.now()
}

// A LimitRequest is whether an event may be told.
type LimitRequest struct {
	Key   string        // of agent, schedule and notifier
	Event string        // each has its own time
	Every time.Duration // 0: always
}

// An Decision says whether it may, and what was held back before.
type Decision struct {
	Send       bool
	Suppressed int
	Since      time.Time // when the event was told last; zero: never
}

// Allow decides. An event that may not be told is counted as held back. Where the marks cannot be
// read or written the answer is to tell, together with the error: rather twice than never.
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

// RecordSent notes that an event was told after Ask allowed it.
func (l *Limiter) RecordSent(ctx context.Context, q LimitRequest, a Decision) error {
	if q.Every <= 0 {
		return nil
	}
	at := l.now().Round(0) // as it will be read again
	l.remember(q, at)
	return l.change(ctx, q.Key, func(m *mark) bool {
		// What was held back since Ask, by another machine, is left for the next message.
		m.Events[q.Event] = eventMark{At: at, Suppressed: max(m.Events[q.Event].Suppressed-a.Suppressed, 0)}
		if s := stateAfter(q.Event); s != "" {
			m.Last = s
		}
		return true
	})
}

// change applies f to the mark under a key, and keeps it where f says that it changed.
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

// A mark is what is remembered for one key.
type mark struct {
	Last   state                `json:"last,omitempty"` // what a person believes
	Events map[string]eventMark `json:"events"`
}

// eventMark is what is remembered of one event.
type eventMark struct {
	At         time.Time `json:"at"` // zero: held back before it was ever told
	Suppressed int       `json:"suppressed,omitempty"`
}

// readMark is a mark as it was kept. One that cannot be read is taken for none: it is only good for
// holding back.
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

// A state is what a person believes about a schedule after the last message.
type state string

const (
	failing state = "failing" // being tried again
	broken  state = "broken"  // given up
	fine    state = "fine"
)

// stateAfter is what an event makes a person believe; "" where it says nothing about it.
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

// contradicts tells whether an event is the end of what was told last.
func (m *mark) contradicts(event string) bool {
	switch event {
	case GivenUp:
		return m.Last == failing || m.Last == fine
	case Recovered:
		return m.Last == failing || m.Last == broken
	}
	return false
}

// passed tells whether a time is up. A clock that was set back must not silence anybody. And a
// schedule that fires every hour is not exact to the second: where the limit is an hour too, each
// of its messages is meant to pass.
func passed(last, now time.Time, every time.Duration) bool {
	slack := min(every/20, time.Minute)
	return last.IsZero() || now.Before(last) || now.Sub(last) >= every-slack
}
