package sessionstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/session"
)

// slack is the number of places by which the order of the records may differ from the order of
// creation times. They differ if sessions are created at the same time, because the time of a
// session is taken before its record is written. We assume that no more than slack sessions are
// created at the same time.
const slack = 64

// Page returns sessions in the order of [Store.List]. Its cost does not depend on their number. A
// cursor stays valid when sessions are created and deleted, also if its own session is deleted.
func (s *Store) Page(ctx context.Context, r session.PageRequest) (session.Page, error) {
	p, err := s.open(ctx)
	if err != nil {
		return session.Page{}, err
	}
	at, err := readCursor(r.Cursor)
	if err != nil {
		return session.Page{}, err
	}
	if err := p.order.ensureBuilt(ctx); err != nil {
		return session.Page{}, err
	}
	if r.Limit <= 0 {
		r.Limit = session.DefaultPage
	}
	return p.page(ctx, at, r.Limit)
}

// page collects one more session than wanted, to know whether there is a next page.
func (p *parts) page(ctx context.Context, at *place, limit int) (session.Page, error) {
	page := session.Page{Sessions: []session.Session{}}
	for {
		places, end, err := p.order.nextPlaces(ctx, at, limit+1)
		if err != nil {
			return session.Page{}, err
		}
		if want := limit + 1 - len(page.Sessions); len(places) > want {
			places, end = places[:want], false
		}
		found, err := p.sessionsAt(ctx, places)
		if err != nil {
			return session.Page{}, err
		}
		for _, f := range found {
			if len(page.Sessions) == limit {
				page.Next = at.cursor()
				return page, nil
			}
			page.Sessions, at = append(page.Sessions, f.session), &f.place
		}
		if end {
			return page, nil
		}
		if len(places) > 0 { // skip places whose sessions were deleted
			at = &places[len(places)-1]
		}
	}
}

// nextPlaces returns at least count places that come next in the list, and whether these are all.
func (o *order) nextPlaces(ctx context.Context, at *place, count int) (next []place, end bool, err error) {
	before := uint64(0)
	count += slack + 1 // the last slack places are cut off below, and [orderBuilt] may be among the others
	if at != nil {     // of the places that come later in the list than at, up to slack have higher numbers
		before = at.sequence + slack + 1
		count += slack
	}
	places, err := o.back(ctx, before, count)
	if err != nil {
		return nil, false, err
	}
	end = len(places) < count
	next = slices.DeleteFunc(places, func(p place) bool { return p.id == orderBuilt || at != nil && newer(*at, p) >= 0 })
	slices.SortFunc(next, newer)
	if !end { // the last ones may belong behind places that were not read
		next = next[:max(len(next)-slack, 0)]
	}
	return next, end, nil
}

// A placedSession is a session with its place.
type placedSession struct {
	place   place
	session session.Session
}

// sessionsAt returns the sessions at some places. It leaves out sessions that were deleted or are
// not written yet.
func (p *parts) sessionsAt(ctx context.Context, places []place) ([]placedSession, error) {
	ids := make([]string, len(places))
	by := make(map[string]place, len(places))
	for i, one := range places {
		ids[i], by[one.id] = one.id, one
	}
	values, err := p.records.GetAll(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	found := make([]placedSession, 0, len(values))
	for _, v := range values {
		s, err := decodeSession(v)
		if err != nil {
			return nil, err
		}
		found = append(found, placedSession{by[v.Key], s})
	}
	if len(found) < len(places) { // read the places again next time: some may have been removed
		p.order.recent.Store(nil)
	}
	return found, nil
}

// cursor returns the place as a cursor: sequence number, time in nanoseconds and id, with the
// numbers in base 36. So it works also after its session was deleted.
func (p *place) cursor() string {
	return strings.Join([]string{strconv.FormatUint(p.sequence, 36), strconv.FormatInt(p.CreatedAt.UnixNano(), 36), p.id}, ".")
}

// readCursor decodes a cursor. It also checks that the id has the cursor's time, unless it belongs
// to another agent's session.
func readCursor(text string) (*place, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, session.ErrCursor
	}
	sequence, err := strconv.ParseUint(parts[0], 36, 63)
	nanos, err2 := strconv.ParseInt(parts[1], 36, 64)
	at := time.Unix(0, nanos).UTC()
	began := session.NewID(session.Prefix, at)[:len(session.Prefix)+session.TimeDigits]
	if err != nil || err2 != nil || sequence == 0 || nanos < 0 ||
		!session.IsHost(parts[2]) && (!strings.HasPrefix(parts[2], began) || len(parts[2]) != len(began)+session.ChanceDigits) {
		return nil, session.ErrCursor
	}
	return &place{sequence: sequence, id: parts[2], CreatedAt: at}, nil
}
