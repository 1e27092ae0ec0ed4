package engine

import (
	"context"
	"errors"
	"time"
)

// The errors that are ordinary answers of a store.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrConflict = errors.New("was changed by another writer")
)

// The errors of an engine that cannot do what the caller wants.
var (
	ErrTooLarge    = errors.New("too large for the engine")
	ErrUnavailable = error(noAnswer{})
	ErrClosed      = errors.New("the engine is closed")
	ErrDisk        = error(diskRefuses{})

	// ErrUncertain is returned if the connection was lost during a write with a revision, and
	// another writer has written since. It cannot be found out any more whether the first write was
	// stored before. The caller must read the value and decide.
	ErrUncertain = errors.New("the connection to the engine was lost during a write: it is not known whether it was stored")
)

// noAnswer is the type of [ErrUnavailable]. Packages that must not import the engine, such as the
// HTTP API, recognize the error by its method.
type noAnswer struct{}

func (noAnswer) Error() string { return "the engine does not answer" }

// EngineSilent marks the error.
func (noAnswer) EngineSilent() {}

// A Store opens buckets and streams. [*Engine] implements it.
type Store interface {
	// Bucket opens a bucket, and creates it if necessary.
	Bucket(ctx context.Context, c BucketConfig) (Bucket, error)
	// Stream opens a stream, and creates it if necessary.
	Stream(ctx context.Context, c StreamConfig) (Stream, error)
	// Writable returns an error if the disk of an embedded engine refuses to write now. Ask it
	// before the first of several removals that belong together.
	Writable() error
}

// BucketConfig describes a bucket.
type BucketConfig struct {
	Name string        // letters, digits, _ and -
	TTL  time.Duration // a key expires if it is not written for this time; 0: never
}

// StreamConfig describes a stream.
type StreamConfig struct {
	Name     string
	MaxAge   time.Duration // 0: records do not expire
	MaxBytes int64         // the oldest records are removed first; 0: no limit
	Together bool          // AppendAll will be used
}

// A Bucket is a set of keys with values. Any string is a key. When a method has returned nil, its
// write is on disk. Revisions grow with every change of the bucket.
type Bucket interface {
	Get(ctx context.Context, key string) (Value, error)                                   // ErrNotFound
	GetAll(ctx context.Context, keys []string) ([]Value, error)                           // in the order of keys, without missing ones
	Put(ctx context.Context, key string, data []byte) (revision uint64, err error)        // replaces any value
	Create(ctx context.Context, key string, data []byte) (revision uint64, err error)     // ErrExists
	Update(ctx context.Context, key string, data []byte, revision uint64) (uint64, error) // ErrConflict if the key has another revision
	Delete(ctx context.Context, key string) error                                         // no error if the key does not exist
	DeleteAt(ctx context.Context, key string, revision uint64) error                      // ErrConflict if the key has another revision
	Keys(ctx context.Context, prefix string) ([]string, error)                            // sorted; reads no value
	Sizes(ctx context.Context, prefix string) ([]Size, error)                             // sorted by key; reads no value
	Values(ctx context.Context, prefix string) ([]Value, error)                           // sorted by key
	// Watch calls f with every current value, then once with nil, then with every change (with
	// Deleted set if the key was deleted or expired), until ctx ends or f returns an error.
	Watch(ctx context.Context, prefix string, f func(*Value) error) error
	// Now returns the time of the clock that sets the times of values. Now minus [Value].Time is
	// the age of a value, independent of the caller's clock.
	Now(ctx context.Context) (time.Time, error)
}

// A Value is the value of a key in a bucket.
type Value struct {
	Key      string
	Data     []byte
	Revision uint64
	Time     time.Time // when it was written, by the engine's clock
	Deleted  bool
}

// A Size is the number of bytes of a key's value.
type Size struct {
	Key   string
	Bytes int
}

// A Stream is an ordered log of records, each with a topic. Any string is a topic, unless one of
// its parts is [Any] or [Below]. Sequence numbers belong to the stream and grow from 1.
type Stream interface {
	// Append adds a record. When it returns nil, the record is on disk.
	Append(ctx context.Context, r Append) (sequence uint64, err error)
	// AppendAll adds all records or none, in their order. It takes six synced calls to the file
	// system, for any number of records; a single record takes one. Each record needs an id. When
	// AppendAll returns nil, the records are on disk. After an error, [Stream].Append of each
	// record with its id adds the missing ones. AppendAll returns [errors.ErrUnsupported] if the
	// server is older than 2.12, or the stream is not configured for it.
	AppendAll(ctx context.Context, records []Append) error
	// Read returns the records after a sequence number, the oldest first, at most limit (0: all).
	Read(ctx context.Context, topic string, after uint64, limit int) ([]Record, error)
	// Contents returns only the data of the records after a sequence number, the oldest first, and
	// the sequence number of the last one, or 0 if there is none. For small records it is several
	// times as fast as Read.
	Contents(ctx context.Context, topic string, after uint64) (data [][]byte, last uint64, err error)
	// ReadBack returns at most limit records before a sequence number (0: the last ones), the
	// newest first.
	ReadBack(ctx context.Context, topic string, before uint64, limit int) ([]Record, error)
	// Follow calls f with the records after a sequence number, and then with each new one, until
	// ctx ends or f returns an error.
	Follow(ctx context.Context, topic string, after uint64, f func(Record) error) error
	// Newest returns the last record of a topic, or [ErrNotFound]. Its cost does not depend on the
	// number of records.
	Newest(ctx context.Context, topic string) (Record, error)
	// Last returns the last sequence number of a topic, or 0 if it has no record.
	Last(ctx context.Context, topic string) (uint64, error)
	// First returns the first sequence number that the stream still has, of any topic.
	First(ctx context.Context) (uint64, error)
	// Purge deletes the records of a topic.
	Purge(ctx context.Context, topic string) error
}

// An Append is a record to be added.
type Append struct {
	Topic string // "" is a topic here; in the methods that take a topic, it means every topic
	Data  []byte
	ID    string  // a second record with this id within a minute is not added; "": no id
	After *uint64 // ErrConflict unless this is the topic's last sequence number; nil: no condition
}

// A Record is one record of a stream.
type Record struct {
	Sequence uint64
	Topic    string
	Time     time.Time
	Data     []byte
}

// QueueConfig describes a queue.
type QueueConfig struct {
	Name       string
	AckWait    time.Duration // a job whose taker says nothing for this time is given to another; 0: 30 s
	MaxDeliver int           // a job that was taken this often without success is dropped and logged; 0: never
	Dedup      time.Duration // how long an item's id is remembered; 0: as [Options].Remember says
}

// A Queue gives each item to one taker at a time, until one has done it.
type Queue interface {
	// Put adds an item. When it returns nil, the item is on disk. An item whose id is remembered is
	// not added again, whether it is waiting, being worked on or done.
	Put(ctx context.Context, item Item) error
	// Take waits for an item.
	Take(ctx context.Context) (*Job, error)
	// Len returns how many items are waiting or being worked on.
	Len(ctx context.Context) (int, error)
}

// An Item is something to be done.
type Item struct {
	ID   string // "": every Put adds another item
	Data []byte
}

// A Job is an item that was taken from a queue. It belongs to the taker until it calls Ack, Nak or
// Drop, or says nothing for [QueueConfig].AckWait.
type Job struct {
	Data       []byte
	Deliveries int // how often it was taken; 1: the first time

	queue *queue
	id    string // the id under which it is remembered; "": none
	reply string // the subject on which the server expects the answer
}
