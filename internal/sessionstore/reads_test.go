package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A counting stream counts the records that are read and added.
type counting struct {
	engine.Stream
	read, added atomic.Int64
}

func (c *counting) Read(ctx context.Context, topic string, after uint64, limit int) ([]engine.Record, error) {
	records, err := c.Stream.Read(ctx, topic, after, limit)
	c.read.Add(int64(len(records)))
	return records, err
}

func (c *counting) Contents(ctx context.Context, topic string, after uint64) ([][]byte, uint64, error) {
	data, last, err := c.Stream.Contents(ctx, topic, after)
	c.read.Add(int64(len(data)))
	return data, last, err
}

func (c *counting) ReadBack(ctx context.Context, topic string, before uint64, limit int) ([]engine.Record, error) {
	records, err := c.Stream.ReadBack(ctx, topic, before, limit)
	c.read.Add(int64(len(records)))
	return records, err
}

func (c *counting) Newest(ctx context.Context, topic string) (engine.Record, error) {
	c.read.Add(1)
	return c.Stream.Newest(ctx, topic)
}

func (c *counting) Append(ctx context.Context, r engine.Append) (uint64, error) {
	c.added.Add(1)
	return c.Stream.Append(ctx, r)
}

// counted returns another store on the same engine, as another process has it, and counts its
// reads.
func counted(t *testing.T, s *Store) (*Store, *counting) {
	t.Helper()
	fresh := New(s.engine)
	p, err := fresh.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Stream: p.transcripts}
	p.transcripts = c
	return fresh, c
}

// converse runs one turn with a question and an answer.
func converse(t *testing.T, s *Store, id, question string) {
	t.Helper()
	turn := begin(t, s, id, BeginOptions{})
	appendTo(t, turn, user(question), say(model.Assistant, "you said "+question))
	end(t, turn, session.Done)
}

// long makes a session with this many turns.
func long(t *testing.T, s *Store, turns int) string {
	t.Helper()
	id := create(t, s, session.Session{Title: "long"}).ID
	for i := range turns {
		converse(t, s, id, fmt.Sprint(i))
	}
	return id
}

// TestNothingIsReadTwice checks that the number of entries that a turn reads does not grow with the
// conversation.
func TestNothingIsReadTwice(t *testing.T) {
	writer := newStore(t)
	t.Run("a store that has the conversation reads none of it", func(t *testing.T) {
		s, c := counted(t, writer)
		id := long(t, s, 20)
		c.read.Store(0)
		converse(t, s, id, "again")
		if n := c.read.Load(); n != 0 {
			t.Errorf("%d entries were read", n)
		}
	})
	t.Run("only the entries that another process added are read", func(t *testing.T) {
		s, c := counted(t, writer)
		id := long(t, s, 20)
		converse(t, writer, id, "from elsewhere")
		c.read.Store(0)
		turn := begin(t, s, id, BeginOptions{})
		if got := turn.Messages(); len(got) != 42 || got[40].Content != "from elsewhere" {
			t.Errorf("%d messages", len(got))
		}
		if n := c.read.Load(); n > 6 { // the entry in our place, the newest, and the four of that turn
			t.Errorf("%d entries were read", n)
		}
		end(t, turn, session.Done)
	})
	t.Run("a conversation is read from its last compaction on", func(t *testing.T) {
		id := long(t, writer, 20)
		compact(t, writer, id)
		converse(t, writer, id, "after it")
		s, c := counted(t, writer)
		messages, err := s.Messages(t.Context(), id)
		if err != nil || len(messages) != 3 || messages[0].Content != "in short" || messages[1].Content != "after it" {
			t.Errorf("got %+v, %v", messages, err)
		}
		if n := c.read.Load(); n > 8 {
			t.Errorf("%d entries were read", n)
		}
		turn := begin(t, s, id, BeginOptions{})
		if got := turn.Earlier(); got != 20 {
			t.Errorf("the compaction took out %d replies, not 20", got)
		}
		end(t, turn, session.Done)
	})
	t.Run("a turn that was cut off after a compaction is repaired", func(t *testing.T) {
		id := long(t, writer, 3)
		cut := begin(t, writer, id, BeginOptions{})
		appendTo(t, cut, user("go"))
		if err := cut.Compact(t.Context(), session.Compaction{Strategy: "drop", Messages: []model.Message{say(model.System, "in short")}}); err != nil {
			t.Fatal(err)
		}
		appendTo(t, cut, calling("1"))
		s, _ := counted(t, writer)
		var busy *session.BusyError
		if _, err := s.Begin(t.Context(), id, BeginOptions{}); !errors.As(err, &busy) {
			t.Fatalf("got %v", err)
		}
		s.opened.abandoned.add(cut.lease.claim.Token)
		turn := begin(t, s, id, BeginOptions{})
		if got := turn.Messages(); len(got) != 3 || !got[2].Failed || turn.Earlier() != 3 {
			t.Errorf("got %+v, %d earlier", got, turn.Earlier())
		}
		end(t, turn, session.Done)
		const want = "began user compaction assistant tool(failed) interrupted began done"
		if got := outline(t, s, id); got[len(got)-len(want):] != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a transcript of an earlier version is read from its beginning", func(t *testing.T) {
		id := create(t, writer, session.Session{}).ID
		plain := []session.Entry{{Message: &model.Message{Role: model.Assistant, Content: "old"}},
			{Compaction: &session.Compaction{Messages: []model.Message{say(model.System, "in short")}}}, {Status: session.Done}}
		for _, e := range plain {
			data, err := encode(e)
			if err == nil {
				_, err = writer.opened.transcripts.Append(t.Context(), engine.Append{Topic: id, Data: data})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		converse(t, writer, id, "new")
		s, _ := counted(t, writer)
		turn := begin(t, s, id, BeginOptions{})
		if got := turn.Messages(); len(got) != 3 || got[0].Content != "in short" || turn.Earlier() != 1 {
			t.Errorf("got %+v, %d earlier", got, turn.Earlier())
		}
		end(t, turn, session.Done)
	})
	t.Run("an impossible place of the last compaction is ignored", func(t *testing.T) {
		id := long(t, writer, 1)
		text := []byte(`{"turn":"t","status":"done","base":18446744073709551615,"earlier":-7,"open":18446744073709551615}`)
		if _, err := writer.opened.transcripts.Append(t.Context(), engine.Append{Topic: id, Data: text}); err != nil {
			t.Fatal(err)
		}
		s, _ := counted(t, writer)
		turn := begin(t, s, id, BeginOptions{})
		if got := turn.Messages(); len(got) != 2 || turn.Earlier() != 0 {
			t.Errorf("got %+v, %d earlier", got, turn.Earlier())
		}
		end(t, turn, session.Done)
	})
	t.Run("a turn adds four entries, and each is one write", func(t *testing.T) {
		s, c := counted(t, writer)
		id := long(t, s, 1)
		c.added.Store(0)
		converse(t, s, id, "again")
		if n := c.added.Load(); n != 4 {
			t.Errorf("%d entries were added", n)
		}
	})
}

func compact(t *testing.T, s *Store, id string) {
	t.Helper()
	turn := begin(t, s, id, BeginOptions{})
	if err := turn.Compact(t.Context(), session.Compaction{Strategy: "drop", Messages: []model.Message{say(model.System, "in short")}}); err != nil {
		t.Fatal(err)
	}
	end(t, turn, session.Done)
}

// TestTails checks that the cache is limited in size, and that a conversation has one owner.
func TestTails(t *testing.T) {
	var all tails
	all.put("a", &state{last: 1, bytes: maxTails / 2})
	all.put("b", &state{last: 2, bytes: maxTails / 4})
	all.put("c", &state{last: 3, bytes: maxTails / 3}) // a must be removed for it
	if all.take("a") != nil || all.take("b") == nil || all.take("b") != nil {
		t.Error("want the least recently used one removed, and each handed out once")
	}
	all.put("c", &state{last: 4, bytes: 1})
	all.put("huge", &state{bytes: maxTails})
	if got := all.take("c"); got != nil || all.take("huge") != nil || all.bytes != 0 || all.used.Len() != 0 {
		t.Errorf("got %+v, %d bytes in %d", got, all.bytes, all.used.Len())
	}
}
