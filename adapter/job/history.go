package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

const (
	// clocksDiffer is by how much the clocks of machines that share an engine may. If they do by more, a record is found
	// nevertheless, but slowly.
	clocksDiffer = time.Minute
	// historyPage is how many records are read at once.
	historyPage = 512
	// overlap is how many more records than asked for are looked at: they are in the order in which runs ended, and listed
	// in that in which they began.
	overlap = 64
)

// file adds a run that is over to the history. It may be there twice, where somebody died before the page of its schedule
// said that it is: see [better].
func (p *parts) file(ctx context.Context, r *Run) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s#%d %s", r.ID, len(r.Attempts), r.Status)
	_, err = p.history.Append(ctx, engine.Append{Topic: r.Agent, Data: data, ID: id})
	return err
}

// better tells which of two records of the same run counts: the one with more attempts, else the first.
func better(old, new *Run) bool { return len(new.Attempts) > len(old.Attempts) }

// Run is one run.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	p, err := s.parts(ctx)
	if err != nil {
		return Run{}, err
	}
	return p.run(ctx, id)
}

// run looks at the page of the schedule first, then through the history.
func (p *parts) run(ctx context.Context, id string) (Run, error) {
	none := fmt.Errorf("%w: %.200s", ErrNoRun, id)
	key, at, ok := cutRunID(id)
	if !ok {
		return Run{}, none
	}
	pg, _, err := p.page(ctx, key)
	switch {
	case err != nil && !errors.Is(err, engine.ErrNotFound):
		return Run{}, err
	case pg.Now != nil && pg.Now.ID == id:
		return *pg.Now, nil
	case pg.Was != nil && pg.Was.ID == id:
		return *pg.Was, nil
	}
	agent, _, _ := strings.Cut(id, "/")
	from, err := p.endedSince(ctx, agent, at.Add(-clocksDiffer))
	if err != nil {
		return Run{}, err
	}
	found, err := p.find(ctx, agent, id, from)
	if err == nil && found == nil && from > 0 { // whatever the clocks say
		found, err = p.find(ctx, agent, id, 0)
	}
	if err != nil {
		return Run{}, err
	}
	if found == nil {
		return Run{}, none
	}
	return *found, nil
}

// filed is the record of a run that ended at some time or later, nil where there is none.
func (p *parts) filed(ctx context.Context, r *Run, since time.Time) (*Run, error) {
	from, err := p.endedSince(ctx, r.Agent, since.Add(-clocksDiffer))
	if err != nil {
		return nil, err
	}
	return p.find(ctx, r.Agent, r.ID, from)
}

// find looks for a run among the records of an agent after a sequence number.
func (p *parts) find(ctx context.Context, agent, id string, after uint64) (*Run, error) {
	var found *Run
	for {
		records, err := p.history.Read(ctx, agent, after, historyPage)
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			r, err := decodeRun(record)
			if err != nil {
				return nil, err
			}
			if r.ID == id && (found == nil || better(found, &r)) {
				found = &r
			}
			after = record.Sequence
		}
		if found != nil || len(records) < historyPage {
			return found, nil
		}
	}
}

// endedSince is the last sequence number before the records of an agent that ended at a time or later. They are in that
// order, as far as clocks agree, so half of what is left can be left out each time.
func (p *parts) endedSince(ctx context.Context, agent string, at time.Time) (uint64, error) {
	high, err := p.history.Last(ctx, agent)
	if err != nil || high == 0 {
		return 0, err
	}
	low, err := p.history.First(ctx)
	if err != nil {
		return 0, err
	}
	for low = max(low, 1) - 1; low < high; {
		middle := low + (high-low)/2
		records, err := p.history.Read(ctx, agent, middle, 1)
		if err != nil {
			return 0, err
		}
		if len(records) == 0 { // they have gone meanwhile
			return low, nil
		}
		r, err := decodeRun(records[0])
		if err != nil {
			return 0, err
		}
		if r.Ended.Before(at) {
			low = records[0].Sequence
		} else {
			high = middle
		}
	}
	return low, nil
}

// Runs are the runs of an agent, or of all where agent is "", the newest first, at most limit (0: all).
func (s *Store) Runs(ctx context.Context, agent string, limit int) ([]Run, error) {
	p, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	records, err := p.latest(ctx, agent, limit)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Run, len(records))
	add := func(r Run) {
		if old, ok := found[r.ID]; !ok || better(&old, &r) {
			found[r.ID] = r
		}
	}
	for _, record := range records {
		r, err := decodeRun(record)
		if err != nil {
			return nil, err
		}
		add(r)
	}
	if err := p.underWay(ctx, agent, add); err != nil {
		return nil, err
	}
	runs := make([]Run, 0, len(found))
	for _, r := range found {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.ID, b.ID)) })
	if limit > 0 && len(runs) > limit {
		runs = runs[:limit]
	}
	return runs, nil
}

// underWay adds the runs that are not over, and the last ones that are, however long ago.
func (p *parts) underWay(ctx context.Context, agent string, add func(Run)) error {
	prefix := ""
	if agent != "" {
		prefix = agent + "/"
	}
	pages, err := p.pages(ctx, prefix)
	for _, pg := range pages {
		if pg.Now != nil {
			add(*pg.Now)
		}
		if pg.Was != nil {
			add(*pg.Was)
		}
	}
	return err
}

// latest are at least as many of the last records as asked for, where there are so many (0: all). How many of an agent's are
// among the last of all cannot be known: it looks further and further back.
func (p *parts) latest(ctx context.Context, agent string, limit int) ([]engine.Record, error) {
	if limit <= 0 {
		return p.history.Read(ctx, agent, 0, 0)
	}
	last, err := p.history.Last(ctx, agent)
	if err != nil || last == 0 {
		return nil, err
	}
	want := limit + overlap
	for back := uint64(2 * want); ; back *= 4 {
		after := last - min(back, last)
		records, err := p.history.Read(ctx, agent, after, 0)
		if err != nil || len(records) >= want || after == 0 {
			return records, err
		}
	}
}

func decodeRun(record engine.Record) (r Run, err error) {
	if err = json.Unmarshal(record.Data, &r); err != nil {
		err = fmt.Errorf("record %d of the history of jobs: %w", record.Sequence, err)
	}
	return r, err
}

// runTime is the time in the id of a run. Such times sort as text.
const runTime = "20060102T150405.000Z"

// byHand ends the id of a run that a person asked for.
const byHand = "-manual"

// runID is one name for one tick, on every machine.
func runID(agent, schedule string, at time.Time, manual bool) string {
	id := stateKey(agent, schedule) + "/" + at.UTC().Format(runTime)
	if manual {
		id += byHand
	}
	return id
}

// cutRunID takes the id of a run apart: the key of its schedule, and its time.
func cutRunID(id string) (key string, at time.Time, ok bool) {
	i := strings.LastIndexByte(id, '/')
	if i <= 0 {
		return "", at, false
	}
	at, err := time.Parse(runTime, strings.TrimSuffix(id[i+1:], byHand))
	return id[:i], at, err == nil
}
