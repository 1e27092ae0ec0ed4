package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func publish(t *testing.T, j *Journal, kind, session, data string) uint64 {
	t.Helper()
	sequence, err := j.Publish(t.Context(), kind, session, json.RawMessage(data))
	if err != nil {
		t.Fatal(err)
	}
	return sequence
}

// read returns the data of the events in the journal.
func read(t *testing.T, j *Journal, after uint64, f Filter, limit int) string {
	t.Helper()
	events, err := j.Read(t.Context(), after, f, limit)
	if err != nil {
		t.Fatal(err)
	}
	var data []string
	for _, e := range events {
		data = append(data, string(e.Data))
	}
	return strings.Join(data, " ")
}

func TestJournal(t *testing.T) {
	j := New(embedded.Engine(t, t.TempDir()), Options{})
	ctx := t.Context()
	if first, err := j.Last(ctx); err != nil || first != 0 {
		t.Errorf("an empty journal's last is %d, %v", first, err)
	}
	one := publish(t, j, "turn.started", "ses_a", `1`)
	publish(t, j, "turn.started", "ses_b", `2`)
	three := publish(t, j, "point", "ses_a", `{"a": [3]}`)
	four := publish(t, j, "plugin.changed", "", `4`)

	t.Run("published events are read unchanged, in order", func(t *testing.T) {
		if got := read(t, j, 0, Filter{}, 0); got != `1 2 {"a": [3]} 4` {
			t.Errorf("got %s", got)
		}
		events, err := j.Read(ctx, 0, Filter{}, 1)
		if err != nil || len(events) != 1 {
			t.Fatalf("got %v, %v", events, err)
		}
		if e := events[0]; e.Sequence != one || e.Kind != "turn.started" || e.Session != "ses_a" || e.Time.IsZero() {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("a filter picks sessions and kinds", func(t *testing.T) {
		for want, f := range map[string]Filter{
			`1 {"a": [3]}`: {Session: "ses_a"},
			`1 2`:          {Kinds: []string{"turn.started"}},
			`2`:            {Session: "ses_b", Kinds: []string{"turn.started", "point"}},
			``:             {Session: "ses_none"},
		} {
			if got := read(t, j, 0, f, 0); got != want {
				t.Errorf("%+v: got %s", f, got)
			}
		}
	})
	t.Run("reading goes on after a sequence number", func(t *testing.T) {
		if got := read(t, j, three, Filter{}, 0); got != "4" {
			t.Errorf("got %s", got)
		}
		if got := read(t, j, one, Filter{Session: "ses_a"}, 0); got != `{"a": [3]}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an event may have no session", func(t *testing.T) {
		events, err := j.Read(ctx, three, Filter{}, 0)
		if err != nil || len(events) != 1 || events[0].Session != "" {
			t.Errorf("got %+v, %v", events, err)
		}
	})
	t.Run("first and last are the oldest and the newest event", func(t *testing.T) {
		first, err := j.First(ctx)
		last, err2 := j.Last(ctx)
		if err != nil || err2 != nil || first != one || last != four {
			t.Errorf("got %d to %d, %v, %v", first, last, err, err2)
		}
	})
	t.Run("an invalid event is refused", func(t *testing.T) {
		for _, c := range [][2]string{{"", "1"}, {"k", ""}, {"k", "{"}, {"k", "1 2"}} {
			if _, err := j.Publish(ctx, c[0], "", json.RawMessage(c[1])); err == nil {
				t.Errorf("%q was taken", c)
			}
		}
	})
	t.Run("forgetting a session deletes its events and no others", func(t *testing.T) {
		if err := j.Forget(ctx, "ses_a"); err != nil {
			t.Fatal(err)
		}
		if got := read(t, j, 0, Filter{}, 0); got != "2 4" {
			t.Errorf("got %s", got)
		}
	})
}

func TestReadPages(t *testing.T) {
	j := New(embedded.Engine(t, t.TempDir()), Options{})
	for i := range page + 3 {
		kind := "other"
		if i%100 == 0 {
			kind = "wanted"
		}
		if !j.Post(kind, "ses_a", json.RawMessage(fmt.Sprint(i))) {
			t.Fatal("the event was dropped")
		}
	}
	awaitDrained(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, j, 0, Filter{Kinds: []string{"wanted"}}, 0); got != "0 100 200 300 400 500" {
		t.Errorf("got %s", got)
	}
	if got := read(t, j, 0, Filter{Kinds: []string{"wanted"}}, 2); got != "0 100" {
		t.Errorf("at most two: %s", got)
	}
	if events, err := j.Read(t.Context(), 0, Filter{}, 0); err != nil || len(events) != page+3 {
		t.Errorf("all: %d, %v", len(events), err)
	}
}

func TestFollow(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	j, writer := New(e, Options{}), New(e, Options{})
	enough := errors.New("enough")

	t.Run("stored events come first, then new ones, until an error", func(t *testing.T) {
		publish(t, writer, "k", "ses_f", "1")
		publish(t, writer, "k", "ses_other", "2")
		var got []string
		err := j.Follow(t.Context(), 0, Filter{Session: "ses_f"}, func(e Event) error {
			got = append(got, string(e.Data))
			switch len(got) {
			case 1:
				publish(t, writer, "k", "ses_f", "3")
				return nil
			case 2:
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || strings.Join(got, " ") != "1 3" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("an invalid record is logged and left out", func(t *testing.T) {
		var log plugtest.Log
		j := New(e, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for _, data := range []string{`{`, `[]`, `{"kind":"k"}`, `{"kind":"k","data":7}`} {
			if _, err := writer.stream.Append(t.Context(), engine.Append{Topic: "ses_g/k/-", Data: []byte(data)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, j, 0, Filter{Session: "ses_g"}, 0); got != "7" {
			t.Errorf("got %s", got)
		}
		if n := strings.Count(log.String(), "journal: cannot read an event"); n != 3 {
			t.Errorf("%d of 3 were logged: %s", n, log.String())
		}
	})
	t.Run("a follower gets an event in place of an invalid record", func(t *testing.T) {
		first, err := writer.stream.Append(t.Context(), engine.Append{Topic: "ses_h/k/-", Data: []byte(`{`)})
		if err != nil {
			t.Fatal(err)
		}
		publish(t, writer, "k", "ses_h", "8")
		for _, f := range []struct {
			filter Filter
			want   string
		}{
			{Filter{}, "events.unreadable 8"},
			{Filter{Session: "ses_h"}, "events.unreadable 8"},
			{Filter{Session: "ses_h", Kinds: []string{"k"}}, "8"},
		} {
			var got []string
			err := j.Follow(t.Context(), first-1, f.filter, func(e Event) error {
				if string(e.Data) == "8" {
					got = append(got, "8")
					return enough
				}
				if e.Sequence != first || e.Session != "ses_h" || !json.Valid(e.Data) {
					t.Errorf("got %+v, data %s", e, e.Data)
				}
				got = append(got, e.Kind)
				return nil
			})
			if !errors.Is(err, enough) || strings.Join(got, " ") != f.want {
				t.Errorf("%+v: got %v, wanted %s, %v", f.filter, got, f.want, err)
			}
		}
	})
	t.Run("following ends with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := j.Follow(ctx, 0, Filter{}, func(Event) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPost(t *testing.T) {
	t.Run("posts are stored in their order", func(t *testing.T) {
		j := New(embedded.Engine(t, t.TempDir()), Options{})
		for _, data := range []string{"1", "2", "3"} {
			if !j.Post("k", "", json.RawMessage(data)) {
				t.Fatal("the event was dropped")
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, j, 0, Filter{}, 0); got != "1 2 3" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a full queue drops and counts, and does not wait", func(t *testing.T) {
		stuck := newStuck(embedded.Engine(t, t.TempDir()))
		j := New(stuck, Options{})
		const surplus = 10
		for range maxQueued + surplus + 1 { // one is on its way
			j.Post("k", "", json.RawMessage("1"))
		}
		// The first may or may not have left the queue by now.
		if n := j.Dropped(); n != surplus && n != surplus+1 {
			t.Errorf("%d were dropped", n)
		}
		close(stuck.free)
		awaitDrained(t, j)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("large events fill the queue sooner", func(t *testing.T) {
		stuck := newStuck(embedded.Engine(t, t.TempDir()))
		j := New(stuck, Options{})
		large := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
		taken := 0
		for range 2 * maxQueuedBytes >> 20 {
			if j.Post("k", "", large) {
				taken++
			}
		}
		if taken > maxQueuedBytes>>20+1 || taken == 0 {
			t.Errorf("%d MiB were accepted", taken)
		}
		close(stuck.free)
		awaitDrained(t, j)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("an event that cannot be stored is counted and logged", func(t *testing.T) {
		var log plugtest.Log
		j := New(embedded.Engine(t, t.TempDir()), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		j.Post("k", "", json.RawMessage("{"))
		_ = j.Close() // an error only if the event had not been dropped yet
		if j.Dropped() != 1 || !strings.Contains(log.String(), "event dropped") {
			t.Errorf("%d dropped, %s", j.Dropped(), log.String())
		}
	})
	t.Run("after close posts are dropped, and a second close does nothing", func(t *testing.T) {
		j := New(embedded.Engine(t, t.TempDir()), Options{})
		for range 2 {
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
		if j.Post("k", "", json.RawMessage("1")) || j.Dropped() != 1 {
			t.Errorf("accepted, or not counted: %d", j.Dropped())
		}
	})
	t.Run("close gives up on an engine that does not answer", func(t *testing.T) {
		stuck := newStuck(embedded.Engine(t, t.TempDir()))
		j := New(stuck, Options{})
		for range 3 {
			j.Post("k", "", json.RawMessage("1"))
		}
		if err := j.Close(); err == nil || !strings.Contains(err.Error(), "3 events") {
			t.Errorf("got %v", err)
		}
	})
}

// stuck is an engine that opens no stream until free is closed.
type stuck struct {
	engine.Store
	free chan struct{}
}

func newStuck(e engine.Store) stuck { return stuck{e, make(chan struct{})} }

func (s stuck) Stream(ctx context.Context, c engine.StreamConfig) (engine.Stream, error) {
	select {
	case <-s.free:
		return s.Store.Stream(ctx, c)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// FuzzDecode decodes any bytes as an event. An accepted event has a kind and valid data.
func FuzzDecode(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{"kind":"k","data":{}}`, `{"kind":"k","data":null}`, `{"kind":"","data":1}`, `{"data":1}`, `[`, `null`} {
		f.Add([]byte(seed))
	}
	j := New(nil, Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, ok := j.decode(engine.Record{Sequence: 1, Topic: none, Time: time.Now(), Data: data})
		if !ok {
			return
		}
		text, err := encode(e.Kind, e.Data)
		if err != nil || e.Session != "" {
			t.Fatalf("%+v: %v", e, err)
		}
		if again, ok := j.decode(engine.Record{Data: text}); !ok || again.Kind != e.Kind {
			t.Errorf("%s became %+v", data, again)
		}
	})
}
