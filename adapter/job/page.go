package job

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// A page is the stored value of a schedule: its state, the run that is not over, and the process
// that makes it. They are one value, so that they change together or not at all.
type page struct {
	State
	Current  *Run   `json:"run,omitempty"`    // the run that is not over
	Hold     *hold  `json:"held,omitempty"`   // the process that makes Current; nil: any process may make its next attempt
	Cancel   string `json:"cancel,omitempty"` // why Current is to be cancelled, as "cancelled by NAME"; "": no request
	Previous *Run   `json:"last,omitempty"`   // the last run that is over and was not skipped; the history has it, too, for historyAge
}

// decodePage decodes a stored page. If the page is damaged, the error says how, and the returned
// page has everything that can still be read. A run that cannot be read is dropped, and a hold that
// cannot be read is cleared.
func decodePage(data []byte) (page, error) {
	var pg page
	if err := json.Unmarshal(data, &pg); err != nil {
		return decodeState(data), err
	}
	switch now := pg.Current; {
	case now == nil:
		pg.clear()
	case now.ID == "" || now.Status.Over() || len(now.Attempts) == 0:
		pg.Current = nil
		pg.clear()
		return pg, errors.New("the current run has no id or attempt, or is over")
	case pg.Hold != nil && (pg.Hold.Token == "" || !pg.Hold.Holder.Known()):
		pg.Active, pg.Hold = now.ID, nil
		return pg, errors.New("the page does not say which process makes the current run")
	default:
		pg.Active = now.ID
	}
	return pg, nil
}

// decodeState reads the state alone, or nothing if that cannot be read either.
func decodeState(data []byte) page {
	var pg page
	if json.Unmarshal(data, &pg.State) != nil {
		pg.State = State{}
	}
	pg.clear()
	return pg
}

// clear resets the fields of a page that has no current run.
func (pg *page) clear() {
	pg.Active, pg.NextAt, pg.Attempt = "", time.Time{}, 0
	pg.Hold, pg.Cancel = nil, ""
}

// page returns the page of a schedule and its revision.
func (p *parts) page(ctx context.Context, key string) (page, uint64, error) {
	v, err := p.states.Get(ctx, key)
	if err != nil {
		return page{}, 0, err
	}
	return p.decodePage(v), v.Revision, nil
}

// decodePage decodes a page, and logs damage.
func (p *parts) decodePage(v engine.Value) page {
	pg, err := decodePage(v.Data)
	if err != nil {
		p.log.Warn("the stored state of a job is damaged; using what can be read", "schedule", v.Key, "err", err)
	}
	if pg.Agent == "" || pg.Schedule == "" {
		pg.Agent, pg.Schedule, _ = strings.Cut(v.Key, "/")
		pg.Since = v.Time // ticks before the page was written do not run
	}
	return pg
}

// pages returns the pages of the schedules whose keys begin with prefix.
func (p *parts) pages(ctx context.Context, prefix string) ([]page, error) {
	values, err := p.states.Values(ctx, prefix)
	if err != nil {
		return nil, err
	}
	pages := make([]page, len(values))
	for i, v := range values {
		pages[i] = p.decodePage(v)
	}
	return pages, nil
}

// update changes the page of a schedule by compare-and-set. If another process changes the page at
// the same time, update calls change again with the new page. It creates the page if there is none.
// If change returns an error, the page stays as it is.
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
