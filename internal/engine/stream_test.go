package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

func TestStream(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		t.Run("records come back in order, by topic, after a number, up to a limit", readRules(e))
		t.Run("an append after another record than the last is refused", afterRules(e))
		t.Run("a record with the same id is stored once", idRules(e))
		t.Run("first, last and purge", firstLastPurge(e))
		t.Run("follow replays and goes on", followRules(e))
		t.Run("followers leave no places behind", followLeavesNothing(e))
		t.Run("many records need several batches", manyRecords(e))
	})
}

func readRules(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openStream(t, e, "read")
		before := time.Now().Add(-time.Minute)
		for i, topic := range []string{"a", "b", "a", "c.d/e *", "a"} {
			appendTo(t, s, topic, fmt.Sprint(i))
		}
		for _, c := range []struct {
			topic string
			after uint64
			limit int
			want  string
		}{
			{"", 0, 0, "1:a=0 2:b=1 3:a=2 4:c.d/e *=3 5:a=4"},
			{"", 3, 0, "4:c.d/e *=3 5:a=4"},
			{"", 1, 2, "2:b=1 3:a=2"},
			{"a", 0, 0, "1:a=0 3:a=2 5:a=4"},
			{"a", 1, 1, "3:a=2"},
			{"c.d/e *", 0, 0, "4:c.d/e *=3"},
			{"a", 5, 0, ""},
			{"", 500, 0, ""},
			{"none", 0, 0, ""},
		} {
			records, err := s.Read(t.Context(), c.topic, c.after, c.limit)
			if got := show(records); err != nil || got != c.want {
				t.Errorf("%q after %d, %d: %s, %v", c.topic, c.after, c.limit, got, err)
			}
			for _, r := range records {
				if r.Time.Before(before) || r.Time.After(time.Now().Add(time.Minute)) {
					t.Errorf("time of a record: %v", r.Time)
				}
			}
		}
	}
}

func show(records []Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, " %d:%s=%s", r.Sequence, r.Topic, r.Data)
	}
	return strings.TrimPrefix(b.String(), " ")
}

func afterRules(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openStream(t, e, "after")
		none, wrong := uint64(0), uint64(77)
		first, err := s.Append(t.Context(), Append{Topic: "t", After: &none})
		if err != nil {
			t.Fatal(err)
		}
		appendTo(t, s, "other", "")
		for _, after := range []*uint64{&none, &wrong} {
			if _, err := s.Append(t.Context(), Append{Topic: "t", After: after}); !errors.Is(err, ErrConflict) {
				t.Errorf("after %d: %v", *after, err)
			}
		}
		if _, err := s.Append(t.Context(), Append{Topic: "t", After: &first}); err != nil {
			t.Errorf("after the last: %v", err)
		}
	}
}

func idRules(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openStream(t, e, "id")
		none := uint64(0)
		for _, id := range []string{"x", "two words", "line\nbreak", strings.Repeat("long", 200), "日本"} {
			topic := "topic " + id
			first, err := s.Append(t.Context(), Append{Topic: topic, ID: id, After: &none})
			if err != nil {
				t.Fatal(err)
			}
			appendTo(t, s, topic, "later")
			for _, a := range []Append{{Topic: topic, ID: id}, {Topic: topic, ID: id, After: &none}} {
				if again, err := s.Append(t.Context(), a); err != nil || again != first {
					t.Errorf("%.40q again, after: %v: %d instead of %d, %v", id, a.After != nil, again, first, err)
				}
			}
			if _, err := s.Append(t.Context(), Append{Topic: topic, ID: id + "2", After: &none}); !errors.Is(err, ErrConflict) {
				t.Errorf("another id: %v", err)
			}
		}
		if records, err := s.Read(t.Context(), "", 0, 0); err != nil || len(records) != 10 {
			t.Errorf("%d records, %v", len(records), err)
		}
	}
}

func firstLastPurge(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openStream(t, e, "purge")
		if last, err := s.Last(t.Context(), "a"); err != nil || last != 0 {
			t.Errorf("last of nothing: %d, %v", last, err)
		}
		for _, topic := range []string{"a", "b", "a", "b"} {
			appendTo(t, s, topic, "")
		}
		expect := func(topic string, wantLast, wantFirst uint64) {
			t.Helper()
			last, err := s.Last(t.Context(), topic)
			if err != nil || last != wantLast {
				t.Errorf("last of %q: %d, %v", topic, last, err)
			}
			if first, err := s.First(t.Context()); err != nil || first != wantFirst {
				t.Errorf("first: %d, %v", first, err)
			}
		}
		expect("a", 3, 1)
		expect("b", 4, 1)
		expect("", 4, 1)
		if err := s.Purge(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		expect("a", 0, 2)
		expect("b", 4, 2)
		expect("", 4, 2)
	}
}

func followRules(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openStream(t, e, "follow")
		for i := range 5 {
			appendTo(t, s, "t", fmt.Sprint(i))
		}
		appendTo(t, s, "other", "")
		var got []string
		err := s.Follow(t.Context(), "t", 2, func(r Record) error {
			got = append(got, string(r.Data))
			if len(got) == 3 { // all that existed
				appendTo(t, s, "other", "")
				appendTo(t, s, "t", "live")
			}
			if string(r.Data) == "live" {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || !slices.Equal(got, []string{"2", "3", "4", "live"}) {
			t.Errorf("%q, %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = s.Follow(ctx, "", 0, func(Record) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after the context has ended: %v", err)
		}
	}
}

func followLeavesNothing(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openStream(t, e, "leave")
		appendTo(t, s, "t", "")
		if err := s.Follow(t.Context(), "", 0, func(Record) error { return errEnough }); !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		// They are gone long before the server would delete them by itself. In a cluster this takes
		// a moment to spread.
		begin := time.Now()
		eventually.True(t, "no followers are left", func() bool {
			info, err := s.(*stream).stream.Info(t.Context())
			return err == nil && info.State.Consumers == 0 && time.Since(begin) < forgetAfter/2
		})
	}
}

func manyRecords(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		const records = batchMessages + 50
		s := openStream(t, e, "many")
		for i := range records {
			appendTo(t, s, "t", fmt.Sprint(i))
		}
		got, err := s.Read(t.Context(), "t", 0, 0)
		if err != nil || len(got) != records {
			t.Fatalf("%d records, %v", len(got), err)
		}
		for i, r := range got {
			if string(r.Data) != fmt.Sprint(i) {
				t.Fatalf("record %d is %s", i, r.Data)
			}
		}
	}
}

func TestStreamLimits(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	t.Run("the oldest records are removed first", func(t *testing.T) {
		s, err := e.Stream(t.Context(), StreamConfig{Name: "bounded", MaxBytes: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			appendTo(t, s, "t", strings.Repeat("x", 1000))
		}
		first, err := s.First(t.Context())
		if err != nil || first < 40 {
			t.Errorf("the first is %d, %v", first, err)
		}
		records, err := s.Read(t.Context(), "", 0, 0)
		if err != nil || len(records) == 0 || records[0].Sequence != first || records[len(records)-1].Sequence != 50 {
			t.Errorf("%d records, %v", len(records), err)
		}
	})
}

func appendTo(t *testing.T, s Stream, topic, data string) uint64 {
	t.Helper()
	sequence, err := s.Append(t.Context(), Append{Topic: topic, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	return sequence
}
