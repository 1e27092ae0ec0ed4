package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrPlace is returned for a text that is not a place in the list of runs.
var ErrPlace = errors.New("not a place in the list of runs")

// The list of runs has three parts, one after the other. Each part has an order in which a later
// call can continue. The history is in the order in which runs ended, because that is the order in
// which its records were written.
const (
	listUnderWay = iota // runs that are not over, the last to begin first
	listHistory         // runs in the history, the last to end first
	listOld             // last runs of schedules that the history no longer has
)

// A place is a position in the list of runs.
type place struct {
	part     int
	sequence uint64    // in the history
	began    time.Time // in the other parts, with id
	id       string
}

func (p place) String() string {
	if p.part == listHistory {
		return fmt.Sprintf("%d %d", p.part, p.sequence)
	}
	return fmt.Sprintf("%d %d %s", p.part, p.began.UnixNano(), p.id)
}

// parsePlace reads a place; "" is the place before the first run.
func parsePlace(text string) (place, error) {
	if text == "" {
		return place{}, nil
	}
	part, rest, _ := strings.Cut(text, " ")
	number, id, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil:
	case part == strconv.Itoa(listHistory) && n > 0 && id == "":
		return place{part: listHistory, sequence: uint64(n)}, nil
	case part == strconv.Itoa(listUnderWay) && id != "":
		return place{part: listUnderWay, began: time.Unix(0, n), id: id}, nil
	case part == strconv.Itoa(listOld) && id != "":
		return place{part: listOld, began: time.Unix(0, n), id: id}, nil
	}
	return place{}, fmt.Errorf("%w: %.80q", ErrPlace, text)
}

// before reports whether p comes before a run, in a part that is in the order in which runs began.
func (p place) before(r *Run) bool {
	return p.id == "" || cmp.Or(p.began.Compare(r.Began), cmp.Compare(r.ID, p.id)) > 0
}

// A listed is a run and its place in the list.
type listed struct {
	run   Run
	place place
}

// Runs returns the runs of an agent, or of all agents if agent is "", in the order of [Store.List].
// It returns at most limit runs; 0 means all.
func (s *Store) Runs(ctx context.Context, agent string, limit int) ([]Run, error) {
	all := []Run{}
	for after := ""; ; {
		want := historyPage
		if limit > 0 {
			want = min(want, limit-len(all))
		}
		runs, next, err := s.List(ctx, agent, after, want)
		if err != nil {
			return nil, err
		}
		all, after = append(all, runs...), next
		if next == "" || len(all) == limit {
			return all, nil
		}
	}
}

// List returns a page of the runs of an agent, or of all agents if agent is "". Runs that are not
// over come first, then the others, the last to end first. The page begins after the place that the
// previous page returned as next; "" begins with the first run. It has at most limit runs. next is
// "" if there are no more.
func (s *Store) List(ctx context.Context, agent, after string, limit int) (runs []Run, next string, err error) {
	from, err := parsePlace(after)
	if err != nil {
		return nil, "", err
	}
	p, err := s.parts(ctx)
	if err != nil {
		return nil, "", err
	}
	l := &lister{parts: p, agent: agent, from: from, want: limit + 1, at: make(map[string]int)}
	if err := l.fill(ctx); err != nil {
		return nil, "", err
	}
	if len(l.list) > limit {
		l.list = l.list[:limit]
		next = l.list[limit-1].place.String()
	}
	runs = make([]Run, len(l.list))
	for i := range l.list {
		runs[i] = l.list[i].run
	}
	return runs, next, nil
}

// A lister collects one page of the list.
type lister struct {
	*parts
	agent string
	from  place
	want  int // how many runs to collect: one more than the page has
	list  []listed
	at    map[string]int // the index of a run in list, by its id
}

func (l *lister) fill(ctx context.Context) error {
	current, last, err := l.runsOfPages(ctx)
	if err != nil {
		return err
	}
	if l.from.part == listUnderWay {
		l.add(listUnderWay, current)
	}
	if l.from.part <= listHistory && len(l.list) < l.want {
		if err := l.addHistory(ctx); err != nil {
			return err
		}
	}
	if len(l.list) < l.want {
		return l.addOld(ctx, last)
	}
	return nil
}

// addOld adds those runs in last that ended before every run that the history still has.
func (l *lister) addOld(ctx context.Context, last []Run) error {
	oldest, err := l.history.Read(ctx, l.agent, 0, 1)
	if err != nil {
		return err
	}
	if len(oldest) > 0 {
		r, err := decodeRun(oldest[0])
		if err != nil {
			return err
		}
		last = slices.DeleteFunc(last, func(o Run) bool { return !o.Ended.Before(r.Ended) })
	}
	l.add(listOld, last)
	return nil
}

// runsOfPages returns the runs that the pages of schedules have: the current ones, and the last
// ones that are over.
func (l *lister) runsOfPages(ctx context.Context) (current, last []Run, err error) {
	prefix := ""
	if l.agent != "" {
		prefix = l.agent + "/"
	}
	pages, err := l.pages(ctx, prefix)
	for _, pg := range pages {
		if pg.Current != nil {
			current = append(current, *pg.Current)
		}
		if pg.Previous != nil {
			last = append(last, *pg.Previous)
		}
	}
	return current, last, err
}

// add adds runs in the order in which they began, the last first.
func (l *lister) add(part int, runs []Run) {
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.ID, b.ID)) })
	for _, r := range runs {
		if _, ok := l.at[r.ID]; !ok && len(l.list) < l.want && (l.from.part != part || l.from.before(&r)) {
			l.put(r, place{part: part, began: r.Began, id: r.ID})
		}
	}
}

// addHistory adds the runs of the history. A second record of a run that is in the list already
// does not count towards the page, so addHistory reads on.
func (l *lister) addHistory(ctx context.Context) error {
	before := uint64(0)
	if l.from.part == listHistory {
		before = l.from.sequence
	}
	for len(l.list) < l.want {
		want := l.want - len(l.list)
		records, err := l.history.ReadBack(ctx, l.agent, before, want)
		if err != nil {
			return err
		}
		for _, record := range records {
			r, err := decodeRun(record)
			if err != nil {
				return err
			}
			before = record.Sequence
			l.addRecord(r, place{part: listHistory, sequence: before})
		}
		if len(records) < want {
			return nil
		}
	}
	return nil
}

// addRecord adds a run that is over, or replaces an entry of the same run. Records come from the
// last to the first. A run may have two records, or one record and a page that has the run as not
// over. The one with more attempts counts; if both have the same number, the earlier record: see
// [supersedes].
func (l *lister) addRecord(r Run, at place) {
	i, ok := l.at[r.ID]
	if !ok {
		l.put(r, at)
		return
	}
	if !supersedes(&r, &l.list[i].run) {
		l.list[i].run = r
	}
}

func (l *lister) put(r Run, at place) {
	l.at[r.ID] = len(l.list)
	l.list = append(l.list, listed{r, at})
}
