package engine

import (
	"context"
	"errors"
	"time"
)

// The errors of a store that are answers rather than accidents.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrConflict = errors.New("was changed by somebody else")
)

// The errors of an engine that cannot do what it was asked to.
var (
	ErrTooLarge    = errors.New("too large for the engine")
	ErrUnavailable = errors.New("the engine does not answer")
	ErrClosed      = errors.New("the engine is closed")
	ErrDisk        = error(diskRefuses{})

	// ErrUncertain: the engine went away in the middle of a write with a revision, and somebody
	// else has written since. Whether this write came before that one cannot be found out any more:
	// read, and decide anew.
	ErrUncertain = errors.New("the engine went away in the middle: whether it was written is not known")
)

// A Store keeps buckets and streams. [*Engine] is the one there is.
type Store interface {
	// Bucket opens a bucket, made where there is none.
	Bucket(ctx context.Context, c BucketConfig) (Bucket, error)
	// Stream opens a stream, made where there is none.
	Stream(ctx context.Context, c StreamConfig) (Stream, error)
}

// BucketConfig says what a bucket is.
type BucketConfig struct {
	Name string        // letters, digits, _ and -
	TTL  time.Duration // a key that was not written for so long is gone; 0: it stays
}

// StreamConfig says what a stream is.
type StreamConfig struct {
	Name     string
	MaxAge   time.Duration // 0: for ever
	MaxBytes int64         // the oldest records go first; 0: no limit
	Together bool          // AppendAll is wanted
}

// A Bucket is a set of keys with values. Any string is a key. What a method returned nil for is on
// disk. Revisions grow with every change to the bucket.
type Bucket interface {
	Get(ctx context.Context, key string) (Value, error)                                   // ErrNotFound
	GetAll(ctx context.Context, keys []string) ([]Value, error)                           // in their order, without those that are not there
	Put(ctx context.Context, key string, data []byte) (revision uint64, err error)        // whatever was there
	Create(ctx context.Context, key string, data []byte) (revision uint64, err error)     // ErrExists
	Update(ctx context.Context, key string, data []byte, revision uint64) (uint64, error) // ErrConflict unless it is at revision
	Delete(ctx context.Context, key string) error                                         // no error where it is not there
	DeleteAt(ctx context.Context, key string, revision uint64) error                      // ErrConflict unless it is at revision
	Keys(ctx context.Context, prefix string) ([]string, error)                            // sorted; reads no value
	Sizes(ctx context.Context, prefix string) ([]Size, error)                             // by key; reads no value
	Values(ctx context.Context, prefix string) ([]Value, error)                           // by key
	// Watch calls f with every value as it is now, then with nil once, then with every change
	// (Deleted set where it went), until ctx ends or f returns an error.
	Watch(ctx context.Context, prefix string, f func(*Value) error) error
	// Now is the time by the clock that stamps values. It less [Value].Time is a value's age,
	// whatever clock the caller has.
	Now(ctx context.Context) (time.Time, error)
}

// A Value is what a bucket has under a key.
type Value struct {
	Key      string
	Data     []byte
	Revision uint64
	Time     time.Time // when it was written, by the engine's clock
	Deleted  bool
}

// A Size is how many bytes a bucket has under a key.
type Size struct {
	Key   string
	Bytes int
}

// A Stream is an ordered log of records, each with a topic. Any string without [Any] and [Below]
// among its parts is a topic. Sequence numbers belong to the stream and grow from 1.
type Stream interface {
	// Append adds a record; when it returns nil, the record is on disk.
	Append(ctx context.Context, r Append) (sequence uint64, err error)
	// AppendAll adds records, all or none, in their order, in the time that the disk takes for one
	// or two. Each needs an id. When it returns nil, they are on disk. After an error,
	// [Stream].Append of each, with its id, adds those that are missing.
	// [errors.ErrUnsupported]: the server is older than 2.12, or the stream is not configured for it.
	AppendAll(ctx context.Context, records []Append) error
	// Read returns the records after a sequence number, oldest first, at most limit (0: all).
	Read(ctx context.Context, topic string, after uint64, limit int) ([]Record, error)
	// Contents returns the data alone of the records after a sequence number, oldest first, and the
	// sequence number of the last of them; 0: there are none. It is several times as fast as Read
	// where records are small.
	Contents(ctx context.Context, topic string, after uint64) (data [][]byte, last uint64, err error)
	// ReadBack returns the records before a sequence number (0: the last ones), newest first, at
	// most limit.
	ReadBack(ctx context.Context, topic string, before uint64, limit int) ([]Record, error)
	// Follow calls f with the records after a sequence number, then with each as it comes, until
	// ctx ends or f returns an error.
	Follow(ctx context.Context, topic string, after uint64, f func(Record) error) error
	// Newest is the last record of a topic, [ErrNotFound] where there is none. It costs the same
	// however many there are.
	Newest(ctx context.Context, topic string) (Record, error)
	// Last is the last sequence number of a topic, 0 where there is none.
	Last(ctx context.Context, topic string) (uint64, error)
	// First is the first sequence number that the stream still has, of any topic.
	First(ctx context.Context) (uint64, error)
	// Purge forgets the records of a topic.
	Purge(ctx context.Context, topic string) error
}

// An Append is a record to be added.
type Append struct {
	Topic string // "" in Read, ReadBack, Follow and Last: every topic
	Data  []byte
	ID    string  // a second record with this id within a minute is taken for the first; "": none
	After *uint64 // ErrConflict unless this is the topic's last sequence number; nil: wherever it is
}

// A Record is one record of a stream.
type Record struct {
	Sequence uint64
	Topic    string
	Time     time.Time
	Data     []byte
}

// QueueConfig says what a queue is.
type QueueConfig struct {
	Name       string
	AckWait    time.Duration // a job that was not heard of for so long goes to somebody else; 0: 30 s
	MaxDeliver int           // a job that was taken so often and never done is dropped, and logged; 0: never
	Dedup      time.Duration // for how long an item's id is remembered; 0: a minute
}

// A Queue hands each item to one taker, again and again until one has done it.
type Queue interface {
	// Put adds an item; when it returns nil, the item is on disk. An item whose id is remembered is
	// not added again, whether it is waiting, being worked on or done.
	Put(ctx context.Context, item Item) error
	// Take waits for an item.
	Take(ctx context.Context) (*Job, error)
	// Len is how many items are waiting or being worked on.
	Len(ctx context.Context) (int, error)
}

// An Item is something to be done.
type Item struct {
	ID   string // "": every Put is another item
	Data []byte
}

// A Job is an item taken from a queue. It is the taker's until it says Ack, Nak or Drop, or says
// nothing for [QueueConfig].AckWait.
type Job struct {
	Data       []byte
	Deliveries int // 1: nobody had it before

	queue *queue
	id    string // under which it is remembered; "": it is not
	reply string // where the server wants to hear of it
}
