package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// deletedTTL is how long the marker of a deleted key stays. A watcher that lost its connection
	// sees the deletion if it is back within that time.
	deletedTTL = 24 * time.Hour
	// markerTTL is how long the marker of an expired key stays. The server writes that marker.
	markerTTL = time.Minute
	// markerHeader is the header of the server's markers.
	markerHeader = "Nats-Marker-Reason"
)

// Bucket opens a bucket, and creates it if necessary. It implements [Store].
func (e *Engine) Bucket(ctx context.Context, c BucketConfig) (Bucket, error) {
	return e.bucket(ctx, c, markerTTL)
}

// bucket opens a bucket. The marker of an expired key stays for as long as trace says. If trace is
// 0, there is no marker, and watchers do not see that a key expired.
func (e *Engine) bucket(ctx context.Context, c BucketConfig, trace time.Duration) (Bucket, error) {
	if err := checkName(c.Name); err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	root := subjectPrefix + "bucket." + c.Name + "."
	want := jetstream.StreamConfig{
		Name:              streamPrefix + "bucket_" + c.Name,
		Subjects:          []string{root + ">"},
		MaxAge:            c.TTL,
		MaxMsgsPerSubject: 1, // a key has one value
		Duplicates:        e.remember,
		AllowDirect:       true,
		AllowMsgTTL:       true,
		AllowRollup:       true, // the server requires it for its markers
	}
	if c.TTL > 0 {
		want.SubjectDeleteMarkerTTL = trace
	}
	b, err := e.ensure(ctx, want)
	if err != nil {
		return nil, err
	}
	b.root = root
	return &bucket{b}, nil
}

type bucket struct{ *backing }

// Get implements [Bucket].
func (b *bucket) Get(ctx context.Context, key string) (Value, error) {
	subject, err := b.subject(key)
	if err != nil {
		return Value{}, err
	}
	v, err := b.get(ctx, subject)
	if err == nil && v.Deleted {
		return Value{}, ErrNotFound
	}
	return v, err
}

// get returns the stored value of a key, which may be the marker of a deleted one.
func (b *bucket) get(ctx context.Context, subject string) (Value, error) {
	m, err := b.last(ctx, subject)
	if err != nil {
		return Value{}, err
	}
	return b.value(m)
}

// Put implements [Bucket].
func (b *bucket) Put(ctx context.Context, key string, data []byte) (uint64, error) {
	subject, err := b.subject(key)
	if err != nil {
		return 0, err
	}
	return b.publish(ctx, write{subject: subject, data: data})
}

// Create implements [Bucket]. The marker of a deleted key has a revision too; Create replaces it.
func (b *bucket) Create(ctx context.Context, key string, data []byte) (uint64, error) {
	subject, err := b.subject(key)
	if err != nil {
		return 0, err
	}
	w := write{subject: subject, data: data, id: "", expect: new(uint64)}
	for {
		revision, err := b.publish(ctx, w)
		if !errors.Is(err, ErrConflict) {
			return revision, err
		}
		there, err := b.get(ctx, subject)
		switch {
		case errors.Is(err, ErrNotFound): // the marker has expired meanwhile
			*w.expect = 0
		case err != nil:
			return 0, err
		case !there.Deleted:
			return 0, ErrExists
		default:
			*w.expect = there.Revision
		}
	}
}

// Update implements [Bucket].
func (b *bucket) Update(ctx context.Context, key string, data []byte, revision uint64) (uint64, error) {
	if revision == 0 { // no value has revision 0: the key must not exist
		revision, err := b.Create(ctx, key, data)
		if errors.Is(err, ErrExists) {
			err = ErrConflict
		}
		return revision, err
	}
	subject, err := b.subject(key)
	if err != nil {
		return 0, err
	}
	return b.publish(ctx, write{subject: subject, data: data, expect: &revision})
}

// Delete implements [Bucket].
func (b *bucket) Delete(ctx context.Context, key string) error {
	if _, err := b.Get(ctx, key); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil // a key that does not exist gets no marker
		}
		return err
	}
	return b.writeDeleted(ctx, key, nil)
}

// DeleteAt implements [Bucket].
func (b *bucket) DeleteAt(ctx context.Context, key string, revision uint64) error {
	return b.writeDeleted(ctx, key, &revision)
}

func (b *bucket) writeDeleted(ctx context.Context, key string, revision *uint64) error {
	subject, err := b.subject(key)
	if err != nil {
		return err
	}
	_, err = b.publish(ctx, write{subject: subject, expect: revision, deleted: true, ttl: deletedTTL})
	return err
}

// Values implements [Bucket].
func (b *bucket) Values(ctx context.Context, prefix string) ([]Value, error) {
	values, _, err := b.snapshot(ctx, prefix)
	return values, err
}

// snapshot reads the values below a prefix, sorted by key. It also returns the revision up to which
// it has seen all changes.
//
// There is one message for each key, and a change moves it to the end. So reading from the first
// message to the last finds every key. A key that changes meanwhile may be found twice; then the
// later value counts.
func (b *bucket) snapshot(ctx context.Context, prefix string) ([]Value, uint64, error) {
	filter, err := filterOf(b.root, prefix)
	if err != nil {
		return nil, 0, err
	}
	found := make(map[string]Value)
	var bad error
	seen, err := b.scan(ctx, filter, 0, func(m stored) bool {
		var v Value
		if v, bad = b.value(m); bad != nil {
			return false
		}
		if strings.HasPrefix(v.Key, prefix) {
			found[v.Key] = v
		}
		return true
	})
	if err = errors.Join(bad, err); err != nil {
		return nil, 0, err
	}
	values := make([]Value, 0, len(found))
	for _, v := range found {
		if !v.Deleted {
			values = append(values, v)
		}
	}
	slices.SortFunc(values, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	return values, seen, nil
}

// Watch implements [Bucket].
func (b *bucket) Watch(ctx context.Context, prefix string, f func(*Value) error) error {
	values, seen, err := b.snapshot(ctx, prefix)
	if err != nil {
		return err
	}
	for i := range values {
		if err := f(&values[i]); err != nil {
			return err
		}
	}
	if err := f(nil); err != nil {
		return err
	}
	filter, err := filterOf(b.root, prefix)
	if err != nil {
		return err
	}
	return b.follow(ctx, filter, seen, func(m stored) error {
		v, err := b.value(m)
		if err != nil || !strings.HasPrefix(v.Key, prefix) {
			return err
		}
		return f(&v)
	})
}

func (b *bucket) subject(key string) (string, error) {
	if key == "" {
		return "", errors.New("a key must not be empty")
	}
	return subjectOf(b.root, key)
}

func (b *bucket) value(m stored) (Value, error) {
	key, err := decode(strings.TrimPrefix(m.subject, b.root))
	if err != nil {
		return Value{}, fmt.Errorf("revision %d of %s, subject %.80q: %w", m.sequence, b.name, m.subject, err)
	}
	gone := m.header.Get(operationHeader) == operationDelete || m.header.Get(markerHeader) != ""
	return Value{Key: key, Data: m.data, Revision: m.sequence, Time: m.time, Deleted: gone}, nil
}
