package sessionstore

import (
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestPlacesAreReadOnce checks that the places of a page are not read a second time, and that
// changes by other processes are seen.
func TestPlacesAreReadOnce(t *testing.T) {
	s := newStore(t)
	makeAtOnce(t, s, 256)
	other := New(s.engine)
	if _, err := other.Page(t.Context(), session.PageRequest{}); err != nil {
		t.Fatal(err)
	}
	places := &counting{Stream: s.opened.order.stream}
	s.opened.order.stream = places
	reads := func(t *testing.T, what string, want int64) {
		t.Helper()
		places.read.Store(0)
		page, err := s.Page(t.Context(), session.PageRequest{Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		if n := places.read.Load(); n > want {
			t.Errorf("%s: %d places were read, wanted at most %d", what, n, want)
		}
		for i, id := range listed(t, s)[:20] {
			if page.Sessions[i].ID != id {
				t.Fatalf("%s: session %d is %s, wanted %s", what, i, page.Sessions[i].ID, id)
			}
		}
	}
	const all = 20 + slack + 2
	reads(t, "at first", all)
	reads(t, "again", 0)
	create(t, other, session.Session{})
	create(t, s, session.Session{})
	reads(t, "after two were made, one by another process", 2)
	if err := other.Delete(t.Context(), listed(t, s)[3]); err != nil {
		t.Fatal(err)
	}
	reads(t, "when a session was deleted, and the next one is read instead", all+slack)
	reads(t, "after that", all)
	reads(t, "and then", 0)
	makeAtOnce(t, other, maxNews+8)
	reads(t, "after very many were made", maxNews+all)
	s.opened.order.recent.Store(&window{last: 1 << 40})
	reads(t, "if the order is not the one that was read before", all)
}

func TestWindow(t *testing.T) {
	sequences := func(places []place) (out []uint64) {
		for _, p := range places {
			out = append(out, p.sequence)
		}
		return out
	}
	w := &window{places: []place{{sequence: 3}, {sequence: 5}, {sequence: 8}}, after: 2, last: 9}
	for _, c := range []struct {
		before uint64
		limit  int
		want   []uint64
		ok     bool
	}{
		{0, 2, []uint64{8, 5}, true},
		{0, 4, nil, false},
		{8, 2, []uint64{5, 3}, true},
		{9, 1, []uint64{8}, true},
		{4, 2, nil, false},
	} {
		if got, ok := w.back(c.before, c.limit); ok != c.ok || !slices.Equal(sequences(got), c.want) {
			t.Errorf("%d before %d: got %v, %v", c.limit, c.before, sequences(got), ok)
		}
	}
	w.after = 0
	if got, ok := w.back(4, 2); !ok || !slices.Equal(sequences(got), []uint64{3}) {
		t.Errorf("without older ones: got %v, %v", sequences(got), ok)
	}
	var news []place
	for i := range uint64(maxRecent) {
		news = append(news, place{sequence: 10 + i})
	}
	next := w.with(news, 10+maxRecent)
	if len(next.places) != maxRecent || next.after != 8 || next.places[0].sequence != 10 || len(w.places) != 3 {
		t.Errorf("%d places after %d", len(next.places), next.after)
	}
}
