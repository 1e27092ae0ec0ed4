package storage

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

// negative returns the usage that undoes a reservation of u.
func negative(u entry.Usage) entry.Usage { return entry.Usage{Bytes: -u.Bytes, Keys: -u.Keys} }

func decodeUsage(data []byte) (u entry.Usage, ok bool) {
	err := json.Unmarshal(data, &u)
	return u, err == nil && u.Bytes >= 0 && u.Keys >= 0
}

// recordPrefix and a plugin's name are the key of the plugin's record. No namespace begins with it,
// because a name does not begin with NUL.
const recordPrefix = "\x00usage\x00"

const (
	// recountEvery is how often a refusal may count everything again. A plugin that tries again and
	// again must not make the host list all its keys each time.
	recountEvery = time.Minute

	// writeTimeout bounds the writing of a value after its quota was reserved.
	writeTimeout = 10 * time.Second

	// quietTime is how long a record must not have changed before a count replaces it. By then
	// every process that had reserved quota has written its value, or never will.
	quietTime = writeTimeout + 5*time.Second
)

// An account is one plugin's record of its usage, as this process knows it.
//
// The record is a value in the bucket and is changed by compare-and-set. Quota is reserved before a
// value is written and released after one is deleted, so the record is never too low, even if other
// processes store at the same time. If a process dies between the two, or the write fails, the
// record stays too high. A later refusal corrects the record: it counts everything, once the record
// has not changed for quietTime.
type account struct {
	turn chan struct{} // a channel of capacity 1, used as a mutex: one change at a time in this process

	// The fields below are protected by turn.
	known    bool // used and revision were read from the record, or written to it
	used     entry.Usage
	revision uint64    // of the record; 0: there is no record
	same     uint64    // the revision at the last refusal
	since    time.Time // when a refusal first saw that revision
	counted  time.Time // when everything was last counted
}

// lock waits until no other change of this process is in progress.
func (a *account) lock(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *account) unlock() { <-a.turn }

// reserve changes the record by d. If d does not fit, the error is [entry.ErrFull].
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

// confirmFull returns the error for a change that does not fit. Before that it reads the record
// again, because other processes may have changed it, and counts everything if the record may be
// too high. It returns nil if the change may fit now.
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

// shouldRecount reports whether it is time to count everything.
func (a *account) shouldRecount(now time.Time) bool {
	if a.same != a.revision {
		a.same, a.since = a.revision, now
	}
	return now.Sub(a.since) >= quietTime && now.Sub(a.counted) >= recountEvery
}

// loadRecord reads the record if it is not known. If there is none, or it cannot be decoded,
// loadRecord counts everything.
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

// recount counts everything and writes the sum into the record, unless the record was changed
// meanwhile.
func (b Bucket) recount(ctx context.Context, bucket engine.Bucket, a *account) error {
	truth, err := count(ctx, bucket, b.prefix)
	if err != nil {
		return err
	}
	a.counted = time.Now()
	return b.writeRecord(ctx, bucket, a, truth)
}

// writeRecord writes u into the record. Afterwards the record is known, unless another process has
// changed it.
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

// count returns the usage of a plugin. It lists the keys and sizes, and reads no values.
func count(ctx context.Context, bucket engine.Bucket, prefix string) (entry.Usage, error) {
	sizes, err := bucket.Sizes(ctx, prefix)
	u := entry.Usage{Keys: len(sizes)}
	for _, s := range sizes {
		u.Bytes += int64(len(s.Key) - len(prefix) + s.Bytes)
	}
	return u, err
}
