package main

import (
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

func newWatcher() *watcher { return &watcher{name: "w", ledger: newLedger(func() {})} }

func event(id uint64, session string) drive.Event {
	return drive.Event{ID: id, Kind: "point", Data: `{"session_id":"` + session + `","turn":"t"}`}
}

// TestWatcher: what a follower must notice.
func TestWatcher(t *testing.T) {
	for _, c := range []struct {
		rule   string
		events []drive.Event
		fault  string // "": none
	}{
		{"ids in a row are fine", []drive.Event{event(1, "a"), event(2, "a"), event(3, "b")}, ""},
		{"an id that was not sent is a hole", []drive.Event{event(1, "a"), event(3, "a")}, "hole"},
		{"so is the first", []drive.Event{event(2, "a")}, "hole"},
		{"an id that comes again is seen twice", []drive.Event{event(1, "a"), event(1, "a")}, "seen twice"},
		{"so is one that comes late", []drive.Event{event(1, "a"), event(2, "a"), event(1, "a")}, "seen twice"},
		{"a gap that is told is a fault", []drive.Event{event(1, "a"), {Kind: "gap", Data: "{}"}}, "gap told"},
		{"so are events that were dropped", []drive.Event{{ID: 1, Kind: "events.dropped", Data: "{}"}}, "events dropped"},
		{"so is one that cannot be read", []drive.Event{{ID: 1, Kind: "events.unreadable", Data: "{}"}}, "event unreadable"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := newWatcher()
			for _, e := range c.events {
				w.take(e)
			}
			want := 0
			if c.fault != "" {
				want = 1
			}
			if got := w.ledger.total(); got != want || got > 0 && w.ledger.faultsOf(c.fault) != 1 {
				t.Errorf("faults are %v, wanted %d of %q", w.ledger.faults, want, c.fault)
			}
		})
	}
}

func TestFollowersAreComparedWithEachOther(t *testing.T) {
	first := newWatcher()
	second := &watcher{name: "second", ledger: first.ledger}
	first.take(event(1, "a"))
	second.take(event(1, "b"))
	if first.ledger.faultsOf("seen otherwise") != 1 {
		t.Errorf("faults are %v", first.ledger.faults)
	}
}

func TestOnlyADeletedSessionExcusesAHole(t *testing.T) {
	first := newWatcher()
	late := &watcher{name: "late", ledger: first.ledger}
	for _, e := range []drive.Event{event(1, "a"), event(2, "b"), event(3, "a")} {
		first.take(e)
	}
	first.ledger.gone("b")
	late.take(event(1, "a"))
	late.take(event(3, "a"))
	if n := first.ledger.total(); n != 0 || first.ledger.excused.Load() != 1 {
		t.Errorf("%d faults, %d excused: %v", n, first.ledger.excused.Load(), first.ledger.faults)
	}
	if first.ledger.excuse(1) || first.ledger.excuse(4) {
		t.Error("an event of a living session, or one that was never seen, is excused")
	}
}

// TestTheSessionOfAnEvent: a session that is created has its id elsewhere than other events, and
// that event is deleted with it. The event that tells of its deletion is of no session, and stays.
func TestTheSessionOfAnEvent(t *testing.T) {
	w := newWatcher()
	w.take(drive.Event{ID: 1, Kind: "session.created", Data: `{"id":"a","plugins":[]}`})
	w.take(drive.Event{ID: 2, Kind: "session.deleted", Data: `{"id":"a"}`})
	w.ledger.gone("a")
	if !w.ledger.excuse(1) {
		t.Error("that a session was created is not excused, and it is deleted")
	}
	if w.ledger.excuse(2) {
		t.Error("that a session was deleted is excused")
	}
}

// TestAReplaySaysWhatItMisses: a replay that lacks an event names the kind of that event.
func TestAReplaySaysWhatItMisses(t *testing.T) {
	w := newWatcher()
	w.take(event(1, "a"))
	(&replayer{ledger: w.ledger}).missing(0, 1)
	if want := []string{"replay differs: after 0: 1 (point) was not sent"}; !slices.Equal(w.ledger.examples, want) {
		t.Errorf("told was %q, wanted %q", w.ledger.examples, want)
	}
}

func TestEndOfATurn(t *testing.T) {
	w := newWatcher()
	w.take(event(1, "a"))
	if got := w.ledger.endOf("a", "t"); got != 0 {
		t.Errorf("the end of a turn that goes on is %d", got)
	}
	end := event(2, "a")
	end.Kind = "turn.finished"
	w.take(end)
	if got := w.ledger.endOf("a", "t"); got != 2 || w.ledger.endOf("a", "other") != 0 {
		t.Errorf("the end is %d, wanted 2, and that of no other turn", got)
	}
}

// TestFlat: growth shows, and only what lasts.
func TestFlat(t *testing.T) {
	readings := func(of func(i int) float64) []reading {
		list := make([]reading, 100)
		for i := range list {
			list[i].Anonymous = of(i)
		}
		return list
	}
	for _, c := range []struct {
		rule string
		of   func(i int) float64
		ok   bool
	}{
		{"level", func(int) float64 { return 100 }, true},
		{"warm after the first quarter", func(i int) float64 { return 100 + 300*min(1, float64(i)/24) }, true},
		{"one high reading", func(i int) float64 { return 100 + 1000*float64(i/90%2*(i%10/9)) }, true},
		{"slow growth", func(i int) float64 { return 100 + float64(i) }, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := Report{OK: true, Seconds: 3600}
			r.flat(readings(c.of))
			if r.OK != c.ok {
				t.Errorf("ok is %v: %+v", r.OK, r.Checks)
			}
		})
	}
	short := Report{OK: true, Seconds: 60}
	short.flat(readings(func(i int) float64 { return float64(i) }))
	if !short.OK || len(short.Checks) != 1 {
		t.Errorf("a minute is judged: %+v", short.Checks)
	}
}

func TestFurnishPutsEveryPluginInItsPlace(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	home, err := furnish()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := plugins.ReadDir("plugins")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if places()[e.Name()] == "" {
			t.Errorf("%s has no place", e.Name())
		}
	}
	for name := range places() {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not there", name)
		}
	}
	if home == "" {
		t.Error("no home")
	}
}
