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

// orderStream has a record for each session, in the order of creation. So the newest sessions are
// found without reading the others.
//
// The record is written before the session itself, and deleted after it. A process that dies
// between the two leaves a record without a session, which is skipped, but never a session without
// a record.
const orderStream = "session_order"

// orderBuilt is the topic of a marker. Earlier versions stored no order. If the marker is there,
// their sessions have been added. No session has this id.
const orderBuilt = "-"

// A place is a session's record in the order.
type place struct {
	sequence   uint64
	id         string
	CreatedAt  time.Time `json:"created_at"`
	WorkingDir string    `json:"working_dir"`
}

// newer compares places as sessions are listed.
func newer(a, b place) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.id, a.id))
}

// An order finds the places of sessions.
type order struct {
	stream  engine.Stream
	records engine.Bucket

	mu    sync.Mutex // held while the order is built; protects built
	built bool       // all sessions are in the order

	recent atomic.Pointer[window] // nil: not read yet
}

// ensureBuilt adds the sessions of earlier versions to the order, once. Several processes may do so
// at the same time, because a session's place is written only if it has none.
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

// add writes the place of a session if it has none.
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

// back returns at most limit places before a sequence number (0: the last ones), the last first.
func (o *order) back(ctx context.Context, before uint64, limit int) ([]place, error) {
	places, err := o.readBack(ctx, before, limit)
	if err != nil {
		return nil, fmt.Errorf("order of the sessions: %w", err)
	}
	return places, nil
}

// readBack takes the places from memory if possible, and reads them otherwise.
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
