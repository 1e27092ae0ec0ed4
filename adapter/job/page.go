package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// A page is what the store has of a schedule, in one value: the run that is not over and the state that goes with it change
// together, or not at all.
type page struct {
	State
	Now *Run `json:"run,omitempty"`  // the one that is not over
	Was *Run `json:"last,omitempty"` // the last one that is over, and was not skipped; the history has it too
}

// decodePage reads a page as the store has it. Who is active is who is there.
func decodePage(data []byte) (pg page, err error) {
	if err := json.Unmarshal(data, &pg); err != nil {
		return page{}, err
	}
	switch now := pg.Now; {
	case now == nil:
		pg.Active, pg.NextAt, pg.Attempt = "", time.Time{}, 0
	case now.ID == "" || now.Status.Over() || len(now.Attempts) == 0:
		return page{}, errors.New("the run under way has no id or attempt, or is over")
	default:
		pg.Active = now.ID
	}
	return pg, nil
}

// page is the page of a schedule, and its revision.
func (p *parts) page(ctx context.Context, key string) (page, uint64, error) {
	v, err := p.states.Get(ctx, key)
	if err != nil {
		return page{}, 0, err
	}
	pg, err := decodePage(v.Data)
	if err != nil {
		return page{}, 0, fmt.Errorf("%s: %w", key, err)
	}
	return pg, v.Revision, nil
}

// pages are those of the schedules whose keys begin with prefix.
func (p *parts) pages(ctx context.Context, prefix string) ([]page, error) {
	values, err := p.states.Values(ctx, prefix)
	if err != nil {
		return nil, err
	}
	pages := make([]page, len(values))
	for i, v := range values {
		if pages[i], err = decodePage(v.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Key, err)
		}
	}
	return pages, nil
}

// update changes the page of a schedule, whoever else does at the same time: change may be called several times. It is made where
// there is none. An error of change's leaves it as it is.
func (p *parts) update(ctx context.Context, agent, schedule string, now time.Time, change func(*page) error) error {
	key := stateKey(agent, schedule)
	for {
		pg, revision, err := p.page(ctx, key)
		if errors.Is(err, engine.ErrNotFound) {
			pg, err = page{State: State{Agent: agent, Schedule: schedule, Since: now}}, nil
		}
		if err != nil {
			return err
		}
		if err := change(&pg); err != nil {
			return err
		}
		data, err := json.Marshal(&pg)
		if err != nil {
			return err
		}
		if _, err = p.states.Update(ctx, key, data, revision); !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
}
