package sessionstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// orderStream has a record for each session, in the order in which they were made. So the newest
// sessions are found without reading the others.
//
// A session's record there is written before the session itself, and goes after it: whoever dies in
// between leaves one without a session, which is passed over, and never a session that is not
// found.
const orderStream = "session_order"

// orderBuilt is the topic that says that the sessions of earlier versions, which knew no order, are
// in it. No session has such an id.
const orderBuilt = "-"

// A place is a session's in the order.
type place struct {
	sequence   uint64
	id         string
	CreatedAt  time.Time `json:"created_at"`
	WorkingDir string    `json:"working_dir"`
}

// newer orders places as sessions are listed.
func newer(a, b place) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.id, a.id))
}

// An order knows where sessions are.
type order struct {
	stream  engine.Stream
	records engine.Bucket

	mu    sync.Mutex // held while the order is being built; protects built
	built bool       // all sessions are in the order

	recent atomic.Pointer[window] // nil: none was read
}

// ensureBuilt sees to it that sessions of earlier versions are in the order, once. Several processes may
// do so at once: a session's place is only ever written where it has none.
func (o *order) ensureBuilt(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.built {
		return nil
	}
	last, err := o.stream.Last(ctx, orderBuilt)
	if err == nil && last == 0 {
		err = o.build(ctx)
	}
	if err != nil {
		return fmt.Errorf("order of the sessions: %w", err)
	}
	o.built = true
	return nil
}

func (o *order) build(ctx context.Context) error {
	values, err := o.records.Values(ctx, "")
	if err != nil {
		return err
	}
	places := make([]place, 0, len(values))
	for _, v := range values {
		s, err := decodeSession(v)
		if err != nil {
			return err
		}
		places = append(places, place{id: s.ID, CreatedAt: s.CreatedAt, WorkingDir: s.WorkingDir})
	}
	slices.SortFunc(places, newer)
	for _, p := range slices.Backward(places) {
		if err := o.add(ctx, p); err != nil {
			return err
		}
	}
	_, err = o.stream.Append(ctx, engine.Append{Topic: orderBuilt, Data: []byte("{}")})
	return err
}

// add gives a session its place, where it has none.
func (o *order) add(ctx context.Context, p place) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	none := uint64(0)
	_, err = o.stream.Append(ctx, engine.Append{Topic: p.id, Data: data, After: &none})
	if errors.Is(err, engine.ErrConflict) {
		return nil
	}
	return err
}

// back are places, the last ones first: those before a sequence number, 0: all.
func (o *order) back(ctx context.Context, before uint64, limit int) ([]place, error) {
	places, err := o.readBack(ctx, before, limit)
	if err != nil {
		return nil, fmt.Errorf("order of the sessions: %w", err)
	}
	return places, nil
}

// readBack takes places from memory where it can, and reads them where it can not.
func (o *order) readBack(ctx context.Context, before uint64, limit int) ([]place, error) {
	last, err := o.stream.Last(ctx, "")
	if err != nil {
		return nil, err
	}
	w, err := o.current(ctx, last)
	if err != nil {
		return nil, err
	}
	if places, ok := w.back(before, limit); ok {
		return places, nil
	}
	records, err := o.stream.ReadBack(ctx, "", before, limit)
	if err != nil {
		return nil, err
	}
	places, err := readPlaces(records)
	if err == nil && before == 0 {
		o.keep(places, last, len(places) < limit)
	}
	return places, err
}

func readPlaces(records []engine.Record) ([]place, error) {
	places := make([]place, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r.Data, &places[i]); err != nil {
			return nil, fmt.Errorf("record %d is broken: %w", r.Sequence, err)
		}
		places[i].id, places[i].sequence = r.Topic, r.Sequence
	}
	return places, nil
}
