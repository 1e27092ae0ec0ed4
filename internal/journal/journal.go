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

// How much is stored: the events of a week, and no more than a laptop can spare.
const (
	streamName = "events"
	maxAge     = 7 * 24 * time.Hour
	maxBytes   = 256 << 20
)

// none is the text that a topic has in place of a session, if the event belongs to no session, and
// in place of a turn, if the event is not indexed by turn. No session and no turn has this id.
const none = "-"

// page is how many records are read at a time if only a few of many are wanted.
const page = 512

// Options are the options of a journal. The zero value works.
type Options struct {
	Logger *slog.Logger // logs events that could not be stored or read; nil discards
}

// An Event is something that happened.
type Event struct {
	Sequence uint64          `json:"seq"`
	Time     time.Time       `json:"time"`
	Kind     string          `json:"kind"`
	Session  string          `json:"session,omitempty"`
	Data     json.RawMessage `json:"data"`
}

// A Filter selects events. The zero value selects all.
type Filter struct {
	Session string   // "": all events, with or without a session
	Kinds   []string // empty: every kind
	Turn    string   // for events posted with [Journal.PostTurn]; "": all events, with or without a turn
}

func (f Filter) wants(e *Event) bool {
	return (f.Session == "" || f.Session == e.Session) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind))
}

// A Journal stores events. It is safe for concurrent use, and several journals may share an engine.
type Journal struct {
	engine engine.Store
	log    *slog.Logger
	queue  *queue

	mu     sync.Mutex    // protects stream
	stream engine.Stream // nil: not opened yet
}

// New makes a journal. It does no I/O and starts no goroutine: the first [Journal.Post] starts one,
// and [Journal.Close] ends it.
func New(e engine.Store, o Options) *Journal {
	return &Journal{engine: e, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), queue: newQueue()}
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

// Publish stores an event; sessionID is "" for an event without a session. When it returns nil, the
// event is on disk.
func (j *Journal) Publish(ctx context.Context, kind, sessionID string, data json.RawMessage) (uint64, error) {
	e, err := newEntry(posting{kind: kind, session: sessionID, data: data})
	if err != nil {
		return 0, err
	}
	return j.append(ctx, e)
}

// An entry is an event as the engine stores it.
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

// Read returns the events after a sequence number that match the filter, the oldest first. It
// returns at most limit events; 0 means all.
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

// Newest returns at most limit events before a sequence number (0: the last ones) that match the
// filter, the newest first. It reads no other events, unless the filter has several kinds.
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

// Follow calls f with the events after a sequence number that match the filter, and then with each
// new one, until ctx ends or f returns an error. A record that is not a valid event is passed on as
// an event of unreadableKind: followers compare sequence numbers and must not take it for lost.
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

// First returns the sequence number of the oldest stored event.
func (j *Journal) First(ctx context.Context) (uint64, error) {
	stream, err := j.open(ctx)
	if err != nil {
		return 0, err
	}
	return stream.First(ctx)
}

// Last returns the sequence number of the newest event, or 0 if there is none.
func (j *Journal) Last(ctx context.Context) (uint64, error) {
	stream, err := j.open(ctx)
	if err != nil {
		return 0, err
	}
	return stream.Last(ctx, "")
}

// Forget deletes the events of a session, also those of the earlier layout.
func (j *Journal) Forget(ctx context.Context, sessionID string) error {
	stream, err := j.open(ctx)
	if err != nil {
		return err
	}
	session := topicPart(sessionID, none)
	return errors.Join(stream.Purge(ctx, session+"/"+engine.Below), stream.Purge(ctx, session))
}

// topic returns the topic of an event: session, kind and turn, so that the engine finds the events
// of each by its index. In an earlier layout the topic was the session alone. Such events are found
// only by filters without session, kind and turn, until they expire.
func (p posting) topic() string {
	return topicPart(p.session, none) + "/" + topicPart(p.kind, none) + "/" + topicPart(p.turn, none)
}

// topicPart escapes a text for use as one part of a topic: it cannot reach into another part or act
// as a wildcard such as [engine.Any].
func topicPart(text, empty string) string { return cmp.Or(partEscapes.Replace(text), empty) }

var (
	partEscapes   = strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "%00")
	partUnescapes = strings.NewReplacer("%25", "%", "%2F", "/", "%00", "\x00")
)

// topic returns a pattern for the topics of the selected events. If the filter has several kinds,
// the pattern matches events of every kind.
func (f Filter) topic() string {
	if f.Session == "" && len(f.Kinds) == 0 && f.Turn == "" {
		return "" // every topic, of the earlier layout too
	}
	kind := engine.Any
	if len(f.Kinds) == 1 {
		kind = topicPart(f.Kinds[0], none)
	}
	return topicPart(f.Session, engine.Any) + "/" + kind + "/" + topicPart(f.Turn, engine.Any)
}

// A storedEvent is the stored form of an event: {"kind": …, "data": …}. The topic has the session,
// and the engine has sequence number and time.
type storedEvent struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// maxNesting is how deep an event's data may be nested. encoding/json, which decodes it again,
// allows 10,000 levels, and the event itself is one.
const maxNesting = 9_999

// encode does not decode the data: Patchbay made it, and it may be large.
func encode(kind string, data json.RawMessage) ([]byte, error) {
	if kind == "" {
		return nil, errors.New("it has no kind")
	}
	if err := rawjson.CheckWithin(data, maxNesting); err != nil {
		return nil, fmt.Errorf("its data: %w", err)
	}
	return rawjson.Object{{Name: "kind", Value: rawjson.String(kind)}, {Name: "data", Value: data}}.JSON(), nil
}

// unreadableKind is the kind of the event that replaces one that cannot be read.
const unreadableKind = "events.unreadable"

// decode decodes an event. If a record is not a valid event, decode logs that and returns an event
// of unreadableKind, so that readers can go on with the next.
func (j *Journal) decode(r engine.Record) (Event, bool) {
	var k storedEvent
	err := json.Unmarshal(r.Data, &k)
	if err == nil && (k.Kind == "" || k.Data == nil) {
		err = errors.New("it has no kind or no data")
	}
	if err != nil {
		j.log.Warn("journal: cannot read an event", "seq", r.Sequence, "err", err)
		k = storedEvent{unreadableKind, rawjson.Object{{Name: "error", Value: rawjson.String(err.Error())}}.JSON()}
	}
	e := Event{Sequence: r.Sequence, Time: r.Time, Kind: k.Kind, Data: k.Data}
	if session, _, _ := strings.Cut(r.Topic, "/"); session != none {
		e.Session = partUnescapes.Replace(session)
	}
	return e, err == nil
}
