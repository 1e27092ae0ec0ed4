package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// A Quota is how much one plugin may store. Zero means the default.
type Quota struct {
	Bytes int64 // of keys and values together; 64 MiB
	Keys  int   // 10,000
}

// The defaults: more than notes, caches of answers and counters take, little enough that a dozen plugins do not fill a
// laptop's disk.
const (
	defaultBytes = 64 << 20
	defaultKeys  = 10_000
)

func (q Quota) whole() Quota {
	if q.Bytes <= 0 {
		q.Bytes = defaultBytes
	}
	if q.Keys <= 0 {
		q.Keys = defaultKeys
	}
	return q
}

// ErrFull says that a plugin may not store any more.
var ErrFull = errors.New("storage is full")

// full is the error of a value that does not fit.
func (b Bucket) full(used, more usage) error {
	q := b.quota.whole()
	return fmt.Errorf("%w: plugin %s keeps %d bytes of at most %d bytes, and %d of at most %d keys, and this takes %d bytes more: "+
		"delete some, or raise limits.storage or limits.storage_keys in [plugins.%s.limits]",
		ErrFull, b.name, used.Bytes, q.Bytes, used.Keys, q.Keys, more.Bytes, b.name)
}

// usage is what a plugin keeps, or a difference to that.
type usage struct {
	Bytes int64 `json:"bytes"`
	Keys  int   `json:"keys"`
}

func (u usage) plus(d usage) usage {
	return usage{Bytes: max(0, u.Bytes+d.Bytes), Keys: max(0, u.Keys+d.Keys)}
}

func (u usage) negative() usage { return usage{Bytes: -u.Bytes, Keys: -u.Keys} }

// grows tells whether more is kept after this.
func (u usage) grows() bool { return u.Bytes > 0 || u.Keys > 0 }

// fits tells whether a plugin that keeps u may keep d more. What does not grow fits, also where a limit was lowered.
func (u usage) fits(d usage, q Quota) bool {
	return (d.Bytes <= 0 || u.Bytes+d.Bytes <= q.Bytes) && (d.Keys <= 0 || u.Keys+d.Keys <= q.Keys)
}

func decodeUsage(data []byte) (u usage, ok bool) {
	err := json.Unmarshal(data, &u)
	return u, err == nil && u.Bytes >= 0 && u.Keys >= 0
}

// recordPrefix is before a plugin's name in the key of its record. No plugin's namespace begins like this: a namespace
// begins with a name, and a name begins with no NUL.
const recordPrefix = "\x00usage\x00"

const (
	// recountEvery is how often a refusal may have everything counted again. A plugin that goes on trying must not make the
	// host list all it keeps each time.
	recountEvery = time.Minute

	// writeTime bounds the writing of a value that room was taken for.
	writeTime = 10 * time.Second

	// quietTime is how long a record must have been the same before it is replaced by what is counted: whoever had taken
	// room by then has written the value since, or never will.
	quietTime = writeTime + 5*time.Second
)

// An account is one plugin's record of what it keeps, as this process knows it.
//
// The record is a value of its own in the bucket, changed by compare-and-swap. Room is taken before a value is written, and
// given back after one is gone, so that the record is never too low, whoever else stores at the same time. A process that
// dies between the two leaves room taken that nobody uses. A refusal finds it again, by counting everything, once the
// record has been the same for quietTime.
type account struct {
	turn chan struct{} // of capacity 1: one change at a time in this process

	// The fields below are for whoever has the turn.
	known    bool // used and revision are what was last seen of the record
	used     usage
	revision uint64    // of the record; 0: there is none
	same     uint64    // the revision at the last refusal
	since    time.Time // when a refusal first saw it
	counted  time.Time // when everything was last counted
}

// take waits for the turn.
func (a *account) take(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *account) leave() { <-a.turn }

// book changes the record by d. Where that does not fit, it is [ErrFull].
func (b Bucket) book(ctx context.Context, bucket engine.Bucket, a *account, d usage) error {
	for d != (usage{}) {
		if err := b.look(ctx, bucket, a); err != nil {
			return err
		}
		if !a.used.fits(d, b.quota.whole()) {
			if err := b.refuse(ctx, bucket, a, d); err != nil {
				return err
			}
			continue
		}
		if err := b.write(ctx, bucket, a, a.used.plus(d)); err != nil || a.known {
			return err
		}
	}
	return nil
}

// refuse is the error of a change that does not fit, after another look at the record, which others may have changed, and at
// all that is kept, where the record may be too high. nil: it may fit now.
func (b Bucket) refuse(ctx context.Context, bucket engine.Bucket, a *account, d usage) error {
	a.known = false
	if err := b.look(ctx, bucket, a); err != nil {
		return err
	}
	if !a.used.fits(d, b.quota.whole()) && a.doubtful(time.Now()) {
		if err := b.recount(ctx, bucket, a); err != nil {
			return err
		}
	}
	if !a.known || a.used.fits(d, b.quota.whole()) {
		return nil
	}
	return b.full(a.used, d)
}

// doubtful tells whether it is time to count everything.
func (a *account) doubtful(now time.Time) bool {
	if a.same != a.revision {
		a.same, a.since = a.revision, now
	}
	return now.Sub(a.since) >= quietTime && now.Sub(a.counted) >= recountEvery
}

// look sees to it that the record is known. Where there is none, or none that can be read, everything is counted.
func (b Bucket) look(ctx context.Context, bucket engine.Bucket, a *account) error {
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
	return b.write(ctx, bucket, a, truth)
}

// write puts u on the record. Afterwards the record is known, unless somebody else has changed it.
func (b Bucket) write(ctx context.Context, bucket engine.Bucket, a *account, u usage) error {
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
func count(ctx context.Context, bucket engine.Bucket, prefix string) (usage, error) {
	sizes, err := bucket.Sizes(ctx, prefix)
	u := usage{Keys: len(sizes)}
	for _, s := range sizes {
		u.Bytes += int64(len(s.Key) - len(prefix) + s.Bytes)
	}
	return u, err
}
