package storage

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

// negative takes back what was booked.
func negative(u entry.Usage) entry.Usage { return entry.Usage{Bytes: -u.Bytes, Keys: -u.Keys} }

func decodeUsage(data []byte) (u entry.Usage, ok bool) {
	err := json.Unmarshal(data, &u)
	return u, err == nil && u.Bytes >= 0 && u.Keys >= 0
}

// recordPrefix is before a plugin's name in the key of its record. No plugin's namespace begins
// like this: a namespace begins with a name, and a name begins with no NUL.
const recordPrefix = "\x00usage\x00"

const (
	// recountEvery is how often a refusal may have everything counted again. A plugin that goes on
	// trying must not make the host list all it keeps each time.
	recountEvery = time.Minute

	// writeTimeout bounds the writing of a value that room was taken for.
	writeTimeout = 10 * time.Second

	// quietTime is how long a record must have been the same before it is replaced by what is
	// counted: whoever had taken room by then has written the value since, or never will.
	quietTime = writeTimeout + 5*time.Second
)

// An account is one plugin's record of what it keeps, as this process knows it.
//
// The record is a value of its own in the bucket, changed by compare-and-swap. Room is taken before
// a value is written, and given back after one is gone, so that the record is never too low,
// whoever else stores at the same time. A process that dies between the two leaves room taken that
// nobody uses. A refusal finds it again, by counting everything, once the record has been the same
// for quietTime.
type account struct {
	turn chan struct{} // of capacity 1: one change at a time in this process

	// The fields below are for whoever has the turn.
	known    bool // used and revision are what was last seen of the record
	used     entry.Usage
	revision uint64    // of the record; 0: there is none
	same     uint64    // the revision at the last refusal
	since    time.Time // when a refusal first saw it
	counted  time.Time // when everything was last counted
}

// lock waits for the turn.
func (a *account) lock(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *account) unlock() { <-a.turn }

// reserve changes the record by d. Where that does not fit, it is [ErrFull].
func (b Bucket) reserve(ctx context.Context, bucket engine.Bucket, a *account, d entry.Usage) error {
	for d != (entry.Usage{}) {
		if err := b.loadRecord(ctx, bucket, a); err != nil {
			return err
		}
		if !a.used.Fits(d, b.quota) {
			if err := b.confirmFull(ctx, bucket, a, d); err != nil {
				return err
			}
			continue
		}
		if err := b.writeRecord(ctx, bucket, a, a.used.Plus(d)); err != nil || a.known {
			return err
		}
	}
	return nil
}

// confirmFull is the error of a change that does not fit, after another look at the record, which others
// may have changed, and at all that is kept, where the record may be too high. nil: it may fit now.
func (b Bucket) confirmFull(ctx context.Context, bucket engine.Bucket, a *account, d entry.Usage) error {
	a.known = false
	if err := b.loadRecord(ctx, bucket, a); err != nil {
		return err
	}
	if !a.used.Fits(d, b.quota) && a.shouldRecount(time.Now()) {
		if err := b.recount(ctx, bucket, a); err != nil {
			return err
		}
	}
	if !a.known || a.used.Fits(d, b.quota) {
		return nil
	}
	return b.quota.Full(b.name, a.used, d)
}

// shouldRecount tells whether it is time to count everything.
func (a *account) shouldRecount(now time.Time) bool {
	if a.same != a.revision {
		a.same, a.since = a.revision, now
	}
	return now.Sub(a.since) >= quietTime && now.Sub(a.counted) >= recountEvery
}

// loadRecord sees to it that the record is known. Where there is none, or none that can be read,
// everything is counted.
func (b Bucket) loadRecord(ctx context.Context, bucket engine.Bucket, a *account) error {
	for !a.known {
		v, err := bucket.Get(ctx, recordPrefix+b.name)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		a.revision = v.Revision
		if a.used, a.known = decodeUsage(v.Data); a.known {
			return nil
		}
		if err := b.recount(ctx, bucket, a); err != nil {
			return err
		}
	}
	return nil
}

// recount counts everything and puts it on the record, where that was not changed meanwhile.
func (b Bucket) recount(ctx context.Context, bucket engine.Bucket, a *account) error {
	truth, err := count(ctx, bucket, b.prefix)
	if err != nil {
		return err
	}
	a.counted = time.Now()
	return b.writeRecord(ctx, bucket, a, truth)
}

// writeRecord puts u on the record. Afterwards the record is known, unless somebody else has changed it.
func (b Bucket) writeRecord(ctx context.Context, bucket engine.Bucket, a *account, u entry.Usage) error {
	a.known = false
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	revision, err := bucket.Update(ctx, recordPrefix+b.name, data, a.revision)
	switch {
	case errors.Is(err, engine.ErrConflict):
		return nil
	case err != nil:
		return err
	}
	a.known, a.used, a.revision = true, u, revision
	return nil
}

// count lists all that a plugin keeps, and reads none of it.
func count(ctx context.Context, bucket engine.Bucket, prefix string) (entry.Usage, error) {
	sizes, err := bucket.Sizes(ctx, prefix)
	u := entry.Usage{Keys: len(sizes)}
	for _, s := range sizes {
		u.Bytes += int64(len(s.Key) - len(prefix) + s.Bytes)
	}
	return u, err
}
