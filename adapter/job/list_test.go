package job

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// pagesOf lists all runs by pages of a size.
func pagesOf(t *testing.T, s *Store, agent string, size int) (ids []string) {
	t.Helper()
	for after := ""; ; {
		runs, next, err := s.List(t.Context(), agent, after, size)
		if err != nil || len(runs) > size || next != "" && len(runs) != size {
			t.Fatalf("after %q: %d runs, next %q, %v", after, len(runs), next, err)
		}
		for _, r := range runs {
			ids = append(ids, r.ID)
		}
		if after = next; next == "" {
			return ids
		}
	}
}

func setPage(t *testing.T, p *parts, agent string, set func(*page)) {
	t.Helper()
	err := p.update(t.Context(), agent, "s", historyBegan, func(pg *page) error {
		set(pg)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestListPages(t *testing.T) {
	s, p := openStore(t)
	var want []string
	for i := range 25 { // four schedules have a run that is not over, one a run that is too old for the history
		r := runAt(fmt.Sprintf("many%02d", i), i, Succeeded)
		appendAll(t, p, r)
		want = append(want, r.ID)
	}
	slices.Reverse(want)
	var now []string
	for i := range 4 {
		r := runAt(fmt.Sprintf("many%02d", i), 100+i, Running)
		setPage(t, p, r.Agent, func(pg *page) { pg.Current = r })
		now = append([]string{r.ID}, now...)
	}
	old := runAt("ancient", 0, Succeeded)
	old.Began = historyBegan.Add(-2 * historyAge)
	old.Ended = old.Began.Add(time.Minute)
	setPage(t, p, old.Agent, func(pg *page) { pg.Previous = old })
	setPage(t, p, "many09", func(pg *page) { pg.Previous = runAt("many09", 9, Succeeded) }) // which the history has too
	want = append(append(now, want...), old.ID)
	for _, size := range []int{1, 2, 3, 7, 29, 30, 31, 1000} {
		if got := pagesOf(t, s, "", size); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %d runs %v, want %d %v", size, len(got), got, len(want), want)
		}
	}
	if got := pagesOf(t, s, "many03", 1); len(got) != 2 || got[0] != now[0] {
		t.Errorf("of one agent: %v", got)
	}
	t.Run("a run that ends between two pages does not move the others", func(t *testing.T) {
		first, next, err := s.List(t.Context(), "", "", 10)
		if err != nil || len(first) != 10 {
			t.Fatal(first, err)
		}
		appendAll(t, p, runAt("late", 500, Succeeded))
		second, _, err := s.List(t.Context(), "", next, 3)
		if err != nil || second[0].ID != want[10] {
			t.Errorf("the next page begins with %+v, %v; want %s", second, err, want[10])
		}
	})
	t.Run("a run whose record is in the history is not listed as running", func(t *testing.T) {
		appendAll(t, p, runAt("many01", 101, GivenUp))
		runs, _, err := s.List(t.Context(), "many01", "", 10)
		if err != nil || len(runs) != 2 || runs[0].Status != GivenUp {
			t.Errorf("%+v, %v", runs, err)
		}
	})
	t.Run("an invalid place is refused", func(t *testing.T) {
		for _, text := range []string{"x", "1", "1 x", "1 0", "1 -5", "1 5 x", "0 5", "2 5 ", "3 5 x", "0 99999999999999999999 x"} {
			if _, _, err := s.List(t.Context(), "", text, 5); !errors.Is(err, ErrPlace) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
