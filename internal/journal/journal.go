package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// How much is kept: enough to ask on Monday what happened on Tuesday, and no more than a laptop can
// spare.
const (
	streamName = "events"
	maxAge     = 7 * 24 * time.Hour
	maxBytes   = 256 << 20
)

// none stands in a topic for the session of an event that belongs to none, and for the turn of one
// that is not found by it. No session and no turn has such an id.
const none = "-"

// page is how many records are read at a time where many are looked through for a few.
const page = 512

// Options say how a journal is kept. The zero value works.
type Options struct {
	Logger *slog.Logger // told what could not be kept, or not be read; nil discards
}

// An Event is something that happened.
type Event struct {
	Sequence uint64          `json:"seq"`
	Time     time.Time       `json:"time"`
	Kind     string          `json:"kind"`
	Session  string          `json:"session,omitempty"`
	Data     json.RawMessage `json:"data"`
}

// A Filter says which events are wanted. The zero value wants all.
type Filter struct {
	Session string   // "": of all sessions, and of none
	Kinds   []string // empty: every kind
	Turn    string   // of those posted with [Journal.PostTurn]; "": of all turns, and of none
}

func (f Filter) wants(e *Event) bool {
	return (f.Session == "" || f.Session == e.Session) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind))
}

// A Journal is what happened. It is safe for concurrent use, and so are several on the same engine.
type Journal struct {
	engine engine.Store
	log    *slog.Logger
	queue  *queue

	mu     sync.Mutex    // protects stream
	stream engine.Stream // nil: not opened yet
}

// New makes a journal. It does no I/O and starts nothing: the first [Journal.Post] does, and
// [Journal.Close] ends it.
func New(e engine.Store, o Options) *Journal {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Journal{engine: e, log: log, queue: newQueue()}
}

func (j *Journal) open(ctx context.Context) (engine.Stream, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stream != nil {
		return j.stream, nil
	}
	stream, err := j.engine.Stream(ctx, engine.StreamConfig{Name: streamName, MaxAge: maxAge, MaxBytes: maxBytes, Together: true})
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j.stream = stream
	return stream, nil
}

// Publish keeps an event; sessionID is "" for one of no session. When it returns nil, the event is
// on disk.
func (j *Journal) Publish(ctx context.Context, kind, sessionID string, data json.RawMessage) (uint64, error) {
	e, err := newEntry(posting{kind: kind, session: sessionID, data: data})
	if err != nil {
		return 0, err
	}
	return j.append(ctx, e)
}

// An entry is an event as the engine keeps it.
type entry struct {
	kind   string
	record engine.Append
}

func newEntry(p posting) (entry, error) {
	text, err := encode(p.kind, p.data)
	if err != nil {
		return entry{}, fmt.Errorf("journal: event %.64q: %w", p.kind, err)
	}
	return entry{p.kind, engine.Append{Topic: p.topic(), Data: text, ID: rand.Text()}}, nil
}

func (j *Journal) append(ctx context.Context, e entry) (uint64, error) {
	stream, err := j.open(ctx)
	if err != nil {
		return 0, err
	}
	sequence, err := stream.Append(ctx, e.record)
	if err != nil {
		return 0, fmt.Errorf("journal: event %.64q, %d bytes: %w", e.kind, len(e.record.Data), err)
	}
	return sequence, nil
}

// Read returns the events after a sequence number that the filter wants, oldest first, at most
// limit (0: all).
func (j *Journal) Read(ctx context.Context, after uint64, filter Filter, limit int) ([]Event, error) {
	stream, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	events := []Event{}
	for {
		records, err := stream.Read(ctx, filter.topic(), after, page)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		for _, r := range records {
			if e, ok := j.decode(r); ok && filter.wants(&e) {
				events = append(events, e)
			}
			if limit > 0 && len(events) == limit {
				return events, nil
			}
		}
		if len(records) < page {
			return events, nil
		}
		after = records[len(records)-1].Sequence
	}
}

// Newest returns the events before a sequence number (0: the last ones) that the filter wants, the
// newest first, at most limit. It reads those alone, unless the filter has several kinds.
func (j *Journal) Newest(ctx context.Context, before uint64, filter Filter, limit int) ([]Event, error) {
	stream, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	newest := []Event{}
	for len(newest) < limit {
		want := limit - len(newest)
		records, err := stream.ReadBack(ctx, filter.topic(), before, want)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		for _, r := range records {
			if e, ok := j.decode(r); ok && filter.wants(&e) {
				newest = append(newest, e)
			}
			before = r.Sequence
		}
		if len(records) < want {
			break
		}
	}
	return newest, nil
}

// Follow calls f with the events after a sequence number that the filter wants, then with each as
// it comes, until ctx ends or f returns an error. What is not an event is handed on as one of
// unreadableKind: whoever follows compares numbers, and must not take it for lost.
func (j *Journal) Follow(ctx context.Context, after uint64, filter Filter, f func(Event) error) error {
	stream, err := j.open(ctx)
	if err != nil {
		return err
	}
	return stream.Follow(ctx, filter.topic(), after, func(r engine.Record) error {
		if e, _ := j.decode(r); filter.wants(&e) {
			return f(e)
		}
		return nil
	})
}

// First is the sequence number of the oldest event that is still kept.
func (j *Journal) First(ctx context.Context) (uint64, error) {
	stream, err := j.open(ctx)
	if err != nil {
		return 0, err
	}
	return stream.First(ctx)
}

// Last is the sequence number of the newest event, 0 where there is none.
func (j *Journal) Last(ctx context.Context) (uint64, error) {
	stream, err := j.open(ctx)
	if err != nil {
		return 0, err
	}
	return stream.Last(ctx, "")
}

// Forget drops the events of a session, those of the earlier layout too.
func (j *Journal) Forget(ctx context.Context, sessionID string) error {
	stream, err := j.open(ctx)
	if err != nil {
		return err
	}
	session := part(sessionID, none)
	return errors.Join(stream.Purge(ctx, session+"/"+engine.Below), stream.Purge(ctx, session))
}

// The topic of an event is session, kind and turn, so that the engine finds the events of each by
// its index. In an earlier layout it was the session alone: such events are found where no session,
// kind or turn is asked for, until they are too old.
func (p posting) topic() string {
	return part(p.session, none) + "/" + part(p.kind, none) + "/" + part(p.turn, none)
}

// part is a text as a part of a topic: no text reaches into another part, or stands for others as
// [engine.Any] does.
func part(text, empty string) string { return cmp.Or(partEscapes.Replace(text), empty) }

var (
	partEscapes   = strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "%00")
	partUnescapes = strings.NewReplacer("%25", "%", "%2F", "/", "%00", "\x00")
)

// topic means the topics of what the filter wants, and of more where it has several kinds.
func (f Filter) topic() string {
	if f.Session == "" && len(f.Kinds) == 0 && f.Turn == "" {
		return "" // every topic, of the earlier layout too
	}
	kind := engine.Any
	if len(f.Kinds) == 1 {
		kind = part(f.Kinds[0], none)
	}
	return part(f.Session, engine.Any) + "/" + kind + "/" + part(f.Turn, engine.Any)
}

// An event is kept as {"kind": …, "data": …}. Its session is the topic; sequence number and time
// are the engine's.
type kept struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// mostNested is how deep an event's data may be: encoding/json, which reads it again, takes 10,000
// levels, and the event itself is one.
const mostNested = 9_999

// encode passes the data on as it is: it was made by us, and may be large.
func encode(kind string, data json.RawMessage) ([]byte, error) {
	if kind == "" {
		return nil, errors.New("it has no kind")
	}
	if err := rawjson.CheckWithin(data, mostNested); err != nil {
		return nil, fmt.Errorf("its data: %w", err)
	}
	return rawjson.Object{{Name: "kind", Value: rawjson.String(kind)}, {Name: "data", Value: data}}.JSON(), nil
}

// unreadableKind is the event that stands for one that cannot be read.
const unreadableKind = "events.unreadable"

// decode reads an event. What is not one is logged, and one of unreadableKind takes its place: it
// must not keep anybody from what came after it.
func (j *Journal) decode(r engine.Record) (Event, bool) {
	var k kept
	err := json.Unmarshal(r.Data, &k)
	if err == nil && (k.Kind == "" || k.Data == nil) {
		err = errors.New("it has no kind or no data")
	}
	if err != nil {
		j.log.Warn("journal entry is broken", "seq", r.Sequence, "err", err)
		k = kept{unreadableKind, rawjson.Object{{Name: "error", Value: rawjson.String(err.Error())}}.JSON()}
	}
	e := Event{Sequence: r.Sequence, Time: r.Time, Kind: k.Kind, Data: k.Data}
	if session, _, _ := strings.Cut(r.Topic, "/"); session != none {
		e.Session = partUnescapes.Replace(session)
	}
	return e, err == nil
}
