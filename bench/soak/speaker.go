package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// patience limits how long a speaker waits for the followers before it deletes a session, and how
// long the soak waits for the last event.
const patience = 2 * time.Minute

// One message in longEvery is long, as when a user pastes a file.
const (
	longEvery = 50
	longText  = 20_000
)

// A speaker sends messages to one session after another.
type speaker struct {
	number   int
	messages int
	pause    time.Duration
	client   *drive.Client
	ledger   *ledger
	watchers []*watcher
}

// speak holds one conversation after another until ctx ends. Then it finishes the current turn,
// compares the transcript and deletes the session.
func (s *speaker) speak(ctx context.Context) {
	for session := 0; ctx.Err() == nil; session++ {
		if err := s.converse(ctx, session); err != nil {
			s.ledger.fault("request failed", "%v", err)
			pause(ctx, time.Second)
		}
	}
}

// converse creates a session, sends its messages, compares its transcript and deletes it. Its
// requests outlive ctx, so that a session that was begun is checked.
func (s *speaker) converse(ctx context.Context, session int) error {
	whole := context.WithoutCancel(ctx)
	var plugins []string
	if s.number%2 == 0 {
		plugins = []string{"sign"}
	}
	id, err := s.client.CreateSession(whole, plugins...)
	if err != nil {
		return err
	}
	messages := s.messages
	if session == 0 { // so that the sessions do not all end at the same time
		messages = 1 + rand.IntN(messages)
	}
	var said []string
	var turn drive.Turn
	for n := 0; n < messages && ctx.Err() == nil; n++ {
		text := s.text(session, n)
		if turn, err = s.client.Send(whole, id, text); err != nil {
			return err
		}
		said = append(said, text)
		s.ledger.messages.Add(1)
		pause(ctx, s.pause)
	}
	if err := s.compare(whole, id, said); err != nil {
		return err
	}
	if turn.Turn != "" {
		s.awaitFollowers(id, turn.Turn)
	}
	return s.deleteSession(whole, id)
}

// text returns a unique message.
func (s *speaker) text(session, n int) string {
	text := fmt.Sprintf("soak %d/%d/%d %x", s.number, session, n, rand.Uint64())
	if n%longEvery == longEvery-1 {
		text += strings.Repeat(" and so on", longText/10)
	}
	return text
}

// compare checks that every acknowledged message is in the transcript once, in order, with an
// answer that repeats it.
func (s *speaker) compare(ctx context.Context, id string, said []string) error {
	entries, err := s.client.Transcript(ctx, id)
	if err != nil {
		return err
	}
	var asked, answered []string
	for _, e := range entries {
		switch {
		case e.Message == nil:
		case e.Message.Role == "user":
			asked = append(asked, e.Message.Content)
		case e.Message.Role == "assistant":
			answered = append(answered, e.Message.Content)
		}
	}
	if len(asked) != len(said) || len(answered) != len(said) {
		s.ledger.fault("transcript differs", "session %s: %d messages acknowledged, %d stored, %d answers", id, len(said), len(asked), len(answered))
		return nil
	}
	for i, text := range said {
		if asked[i] != text || !strings.Contains(answered[i], text[:min(len(text), 40)]) {
			s.ledger.fault("transcript differs", "session %s: message %d is %.60q, answered %.60q; sent was %.60q", id, i, asked[i], answered[i], text)
		}
	}
	s.ledger.compared.Add(int64(len(said)))
	return nil
}

// awaitFollowers waits until every follower has seen the end of a turn. If the session is deleted
// after that, no follower misses an event.
func (s *speaker) awaitFollowers(session, turn string) {
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		if end := s.ledger.endOf(session, turn); end > 0 && passed(s.watchers, end) {
			return
		}
	}
	s.ledger.fault("event late", "the end of %s did not reach all followers within %v", turn, patience)
}

func passed(watchers []*watcher, id uint64) bool {
	for _, w := range watchers {
		if w.last.Load() < id {
			return false
		}
	}
	return true
}

func (s *speaker) deleteSession(ctx context.Context, id string) error {
	s.ledger.markDeleted(id)
	if err := s.client.DeleteSession(ctx, id); err != nil {
		return err
	}
	s.ledger.sessions.Add(1)
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
