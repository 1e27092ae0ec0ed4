package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

const (
	// clocksDiffer is how far the clocks of machines that share an engine are expected to differ.
	// If they differ by more, [Store.Run] still finds a run, but slowly.
	clocksDiffer = time.Minute
	// historyPage is how many records are read at once.
	historyPage = 512
)

// appendHistory adds a run that is over to the history. The history may have the run twice, if a
// process died before it could update the schedule's page: see [supersedes].
func (p *parts) appendHistory(ctx context.Context, r *Run) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s#%d %s", r.ID, len(r.Attempts), r.Status)
	_, err = p.history.Append(ctx, engine.Append{Topic: r.Agent, Data: data, ID: id})
	return err
}

// supersedes reports whether the record new replaces the record old. Both are of one run, and new
// was written later. The record with more attempts counts; if both have the same number, the
// earlier one does.
func supersedes(old, new *Run) bool { return len(new.Attempts) > len(old.Attempts) }

// Run returns the run with an id, or [ErrNoRun].
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	p, err := s.parts(ctx)
	if err != nil {
		return Run{}, err
	}
	return p.run(ctx, id)
}

// run looks for a run in the page of its schedule, then in the history.
func (p *parts) run(ctx context.Context, id string) (Run, error) {
	none := fmt.Errorf("%w: %.200s", ErrNoRun, id)
	key, at, ok := splitRunID(id)
	if !ok {
		return Run{}, none
	}
	pg, _, err := p.page(ctx, key)
	switch {
	case err != nil && !errors.Is(err, engine.ErrNotFound):
		return Run{}, err
	case pg.Current != nil && pg.Current.ID == id:
		return *pg.Current, nil
	case pg.Previous != nil && pg.Previous.ID == id:
		return *pg.Previous, nil
	}
	agent, _, _ := strings.Cut(id, "/")
	from, err := p.endedSince(ctx, agent, at.Add(-clocksDiffer))
	if err != nil {
		return Run{}, err
	}
	found, err := p.find(ctx, agent, id, from)
	if err == nil && found == nil && from > 0 { // the clocks may differ by more: search all of it
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

// findEnded looks for a run among the records of its agent from a point in time on. It returns nil
// if the run is not there.
func (p *parts) findEnded(ctx context.Context, r *Run, since time.Time) (*Run, error) {
	from, err := p.endedSince(ctx, r.Agent, since.Add(-clocksDiffer))
	if err != nil {
		return nil, err
	}
	return p.find(ctx, r.Agent, r.ID, from)
}

// find looks for a run among the records of an agent after a sequence number. It returns nil if the
// run is not there.
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
			if r.ID == id && (found == nil || supersedes(found, &r)) {
				found = &r
			}
			after = record.Sequence
		}
		if found != nil || len(records) < historyPage {
			return found, nil
		}
	}
}

// endedSince returns the sequence number after which all records of an agent ended at this time or
// later. The records are in that order as far as the clocks agree, so endedSince is a binary
// search.
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
		if len(records) == 0 { // they were deleted meanwhile
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

func decodeRun(record engine.Record) (r Run, err error) {
	if err = json.Unmarshal(record.Data, &r); err != nil {
		err = fmt.Errorf("record %d of the history of jobs: %w", record.Sequence, err)
	}
	return r, err
}

// runTime is the layout of the time in the id of a run. Such times sort as text.
const runTime = "20060102T150405.000Z"

// manualSuffix ends the id of a run that a person started.
const manualSuffix = "-manual"

// runID returns the id of a run. It is the same for a tick on every machine.
func runID(agent, schedule string, at time.Time, manual bool) string {
	id := stateKey(agent, schedule) + "/" + at.UTC().Format(runTime)
	if manual {
		id += manualSuffix
	}
	return id
}

// splitRunID splits the id of a run into the key of its schedule and its time.
func splitRunID(id string) (key string, at time.Time, ok bool) {
	i := strings.LastIndexByte(id, '/')
	if i <= 0 {
		return "", at, false
	}
	at, err := time.Parse(runTime, strings.TrimSuffix(id[i+1:], manualSuffix))
	return id[:i], at, err == nil
}
