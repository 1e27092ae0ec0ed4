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

// TestWatcher: a follower notices each kind of fault.
func TestWatcher(t *testing.T) {
	for _, c := range []struct {
		rule   string
		events []drive.Event
		fault  string // "": none
	}{
		{"ids in a row are fine", []drive.Event{event(1, "a"), event(2, "a"), event(3, "b")}, ""},
		{"a missing id is a hole", []drive.Event{event(1, "a"), event(3, "a")}, "hole"},
		{"a missing first id is a hole", []drive.Event{event(2, "a")}, "hole"},
		{"an id that comes again is seen twice", []drive.Event{event(1, "a"), event(1, "a")}, "seen twice"},
		{"an id that comes late is seen twice", []drive.Event{event(1, "a"), event(2, "a"), event(1, "a")}, "seen twice"},
		{"a gap event is a fault", []drive.Event{event(1, "a"), {Kind: "gap", Data: "{}"}}, "gap told"},
		{"dropped events are a fault", []drive.Event{{ID: 1, Kind: "events.dropped", Data: "{}"}}, "events dropped"},
		{"an unreadable event is a fault", []drive.Event{{ID: 1, Kind: "events.unreadable", Data: "{}"}}, "event unreadable"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := newWatcher()
			for _, e := range c.events {
				w.checkEvent(e)
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
	first.checkEvent(event(1, "a"))
	second.checkEvent(event(1, "b"))
	if first.ledger.faultsOf("seen otherwise") != 1 {
		t.Errorf("faults are %v", first.ledger.faults)
	}
}

func TestOnlyADeletedSessionExcusesAHole(t *testing.T) {
	first := newWatcher()
	late := &watcher{name: "late", ledger: first.ledger}
	for _, e := range []drive.Event{event(1, "a"), event(2, "b"), event(3, "a")} {
		first.checkEvent(e)
	}
	first.ledger.markDeleted("b")
	late.checkEvent(event(1, "a"))
	late.checkEvent(event(3, "a"))
	if n := first.ledger.total(); n != 0 || first.ledger.excused.Load() != 1 {
		t.Errorf("%d faults, %d excused: %v", n, first.ledger.excused.Load(), first.ledger.faults)
	}
	if first.ledger.excuse(1) || first.ledger.excuse(4) {
		t.Error("a missing event of an existing session, or of an unknown one, is excused")
	}
}

// TestTheSessionOfAnEvent: session.created has the id of the session in another field than other
// events, and is deleted with the session. session.deleted belongs to no session, and stays.
func TestTheSessionOfAnEvent(t *testing.T) {
	w := newWatcher()
	w.checkEvent(drive.Event{ID: 1, Kind: "session.created", Data: `{"id":"a","plugins":[]}`})
	w.checkEvent(drive.Event{ID: 2, Kind: "session.deleted", Data: `{"id":"a"}`})
	w.ledger.markDeleted("a")
	if !w.ledger.excuse(1) {
		t.Error("the missing session.created of a deleted session is not excused")
	}
	if w.ledger.excuse(2) {
		t.Error("a missing session.deleted is excused")
	}
}

// TestAReplaySaysWhatItMisses: the fault names the kind of the missing event.
func TestAReplaySaysWhatItMisses(t *testing.T) {
	w := newWatcher()
	w.checkEvent(event(1, "a"))
	(&replayer{ledger: w.ledger}).missing(0, 1)
	if want := []string{"replay differs: after 0: 1 (point) was not sent"}; !slices.Equal(w.ledger.examples, want) {
		t.Errorf("got %q, wanted %q", w.ledger.examples, want)
	}
}

func TestEndOfATurn(t *testing.T) {
	w := newWatcher()
	w.checkEvent(event(1, "a"))
	if got := w.ledger.endOf("a", "t"); got != 0 {
		t.Errorf("the end of an unfinished turn is %d", got)
	}
	end := event(2, "a")
	end.Kind = "turn.finished"
	w.checkEvent(end)
	if got := w.ledger.endOf("a", "t"); got != 2 || w.ledger.endOf("a", "other") != 0 {
		t.Errorf("the end is %d, wanted 2, and 0 for another turn", got)
	}
}

// TestFlat: lasting growth is a fault, and a single high reading is not.
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
			r.checkGrowth(readings(c.of))
			if r.OK != c.ok {
				t.Errorf("ok is %v: %+v", r.OK, r.Checks)
			}
		})
	}
	short := Report{OK: true, Seconds: 60}
	short.checkGrowth(readings(func(i int) float64 { return float64(i) }))
	if !short.OK || len(short.Checks) != 1 {
		t.Errorf("a soak of one minute is judged: %+v", short.Checks)
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
			t.Errorf("%s is not in places", e.Name())
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
