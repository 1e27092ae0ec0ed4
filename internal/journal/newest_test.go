package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
)

func TestNewest(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	j := New(e, Options{})
	const many = 2*page + 3
	for begin := 0; begin < many; begin += page {
		writer := New(e, Options{}) // one journal would not accept so many at once
		for i := begin; i < min(begin+page, many); i++ {
			kind, session := []string{"wanted", "other"}[i%2], []string{"ses_a", "ses_b", ""}[i%3]
			turn := ""
			if kind == "wanted" {
				turn = fmt.Sprint("turn", i/100)
			}
			if !writer.PostTurn(kind, session, turn, json.RawMessage(fmt.Sprint(i))) {
				t.Fatal("the event was dropped")
			}
		}
		awaitDrained(t, writer)
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Forget(t.Context(), "ses_b"); err != nil { // leaves gaps
		t.Fatal(err)
	}
	events, err := j.Read(t.Context(), 0, Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ofTurn := func(e *Event, turn string) bool {
		return e.Kind == "wanted" && fmt.Sprint("turn", number(t, e)/100) == turn
	}
	for name, c := range map[string]struct {
		filter Filter
		before uint64
		limit  int
		count  int
	}{
		"all":                   {Filter{}, 0, many, 685},
		"a few":                 {Filter{}, 0, 5, 5},
		"a few before those":    {Filter{}, 1000, 5, 5},
		"of a kind":             {Filter{Kinds: []string{"wanted"}}, 0, 7, 7},
		"of two kinds":          {Filter{Kinds: []string{"wanted", "nothing"}}, 0, 7, 7},
		"of a session":          {Filter{Session: "ses_a"}, 0, many, 343},
		"of a session and kind": {Filter{Session: "ses_a", Kinds: []string{"other"}}, 600, 3, 3},
		"of a deleted session":  {Filter{Session: "ses_b"}, 0, 5, 0},
		"of a turn":             {Filter{Turn: "turn2"}, 0, many, 33},
		"of a turn and kind":    {Filter{Turn: "turn2", Kinds: []string{"wanted"}}, 0, 3, 3},
		"of a turn, other kind": {Filter{Turn: "turn2", Kinds: []string{"other"}}, 0, 3, 0},
		"of a turn and session": {Filter{Turn: "turn2", Session: "ses_a"}, 0, many, 16},
		"of an unknown turn":    {Filter{Turn: "turn"}, 0, many, 0},
		"of any turn":           {Filter{Turn: engine.Any}, 0, many, 0},
	} {
		want := []Event{}
		for _, e := range slices.Backward(events) {
			if len(want) < c.limit && (c.before == 0 || e.Sequence < c.before) && c.filter.wants(&e) && (c.filter.Turn == "" || ofTurn(&e, c.filter.Turn)) {
				want = append(want, e)
			}
		}
		if len(want) != c.count {
			t.Errorf("%s: the test wants %d events, not %d", name, len(want), c.count)
		}
		if got, err := j.Newest(t.Context(), c.before, c.filter, c.limit); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d events, %v; want %d", name, len(got), err, len(want))
		}
	}
	t.Run("an empty journal has none", func(t *testing.T) {
		if got, err := New(embedded.Engine(t, t.TempDir()), Options{}).Newest(t.Context(), 0, Filter{}, 5); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func number(t *testing.T, e *Event) (n int) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// asked is an engine that counts the records it is asked for.
type asked struct {
	engine.Store
	records *atomic.Int64
}

func (a asked) Stream(ctx context.Context, c engine.StreamConfig) (engine.Stream, error) {
	s, err := a.Store.Stream(ctx, c)
	return askedStream{s, a.records}, err
}

type askedStream struct {
	engine.Stream
	records *atomic.Int64
}

func (s askedStream) Read(ctx context.Context, topic string, after uint64, limit int) ([]engine.Record, error) {
	records, err := s.Stream.Read(ctx, topic, after, limit)
	s.records.Add(int64(len(records)))
	return records, err
}

func (s askedStream) ReadBack(ctx context.Context, topic string, before uint64, limit int) ([]engine.Record, error) {
	records, err := s.Stream.ReadBack(ctx, topic, before, limit)
	s.records.Add(int64(len(records)))
	return records, err
}

func TestRareEventsCostNoScan(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	writer := New(e, Options{})
	for i := range page {
		kind, turn := "common", ""
		if i%100 == 0 {
			kind, turn = "rare", fmt.Sprint("turn", i)
		}
		if !writer.PostTurn(kind, fmt.Sprint("ses", i%10), turn, json.RawMessage("1")) {
			t.Fatal("the event was dropped")
		}
	}
	awaitDrained(t, writer)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]Filter{
		"of a kind":             {Kinds: []string{"rare"}},
		"of a kind and session": {Kinds: []string{"rare"}, Session: "ses0"},
		"of a turn":             {Turn: "turn300"},
	} {
		var records atomic.Int64
		j := New(asked{e, &records}, Options{})
		if _, err := j.Newest(t.Context(), 0, f, 50); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Read(t.Context(), 0, f, 0); err != nil {
			t.Fatal(err)
		}
		if n := records.Load(); n == 0 || n > 12 {
			t.Errorf("%s: %d records were read for up to six events, twice", name, n)
		}
	}
}

// TestTheEarlierLayout: events of an earlier layout, whose topic is their session alone, are read,
// and are forgotten with their session.
func TestTheEarlierLayout(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	j := New(e, Options{})
	publish(t, j, "new", "ses_a", "1")
	for _, session := range []string{"ses_a", "ses_b"} {
		if _, err := j.stream.Append(t.Context(), engine.Append{Topic: session, Data: []byte(`{"kind":"old","data":2}`)}); err != nil {
			t.Fatal(err)
		}
	}
	events, err := j.Read(t.Context(), 0, Filter{}, 0)
	if err != nil || len(events) != 3 || events[1].Session != "ses_a" || events[1].Kind != "old" {
		t.Errorf("%+v, %v", events, err)
	}
	if err := j.Forget(t.Context(), "ses_a"); err != nil {
		t.Fatal(err)
	}
	if events, err := j.Read(t.Context(), 0, Filter{}, 0); err != nil || len(events) != 1 || events[0].Session != "ses_b" {
		t.Errorf("%+v, %v", events, err)
	}
	if err := j.Forget(t.Context(), engine.Any); err != nil {
		t.Fatal(err)
	}
	if got := read(t, j, 0, Filter{}, 0); got != "2" {
		t.Errorf("forgetting a session whose name is a wildcard has left %q", got)
	}
}
