package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Stream opens a stream, and creates it if necessary. It implements [Store].
func (e *Engine) Stream(ctx context.Context, c StreamConfig) (Stream, error) {
	if err := checkName(c.Name); err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	root := subjectPrefix + "stream." + c.Name + "."
	b, err := e.ensure(ctx, jetstream.StreamConfig{
		Name:              streamPrefix + "stream_" + c.Name,
		Subjects:          []string{root + ">"},
		MaxAge:            c.MaxAge,
		MaxBytes:          c.MaxBytes,
		MaxMsgsPerSubject: -1,
		Duplicates:        e.remember,
		AllowDirect:       true,
		// An older server does not know this option, and leaves it out of the stream's
		// configuration.
		AllowAtomicPublish: c.Together,
	})
	if err != nil {
		return nil, err
	}
	b.root = root
	return &stream{b}, nil
}

type stream struct{ *backing }

// Append implements [Stream].
func (s *stream) Append(ctx context.Context, r Append) (uint64, error) {
	subject, err := s.subject(r.Topic)
	if err != nil {
		return 0, err
	}
	return s.publish(ctx, write{subject: subject, data: r.Data, id: r.ID, expect: r.After})
}

// Read implements [Stream].
func (s *stream) Read(ctx context.Context, topic string, after uint64, limit int) ([]Record, error) {
	filter, err := s.filter(topic)
	if err != nil {
		return nil, err
	}
	var records []Record
	var bad error
	few := batchMessages
	if limit > 0 {
		few = limit
	}
	_, err = s.scanSome(ctx, filter, after, few, func(m stored) bool {
		var r Record
		if r, bad = s.record(m); bad != nil {
			return false
		}
		records = append(records, r)
		return limit <= 0 || len(records) < limit
	})
	if err = errors.Join(bad, err); err != nil {
		return nil, err
	}
	return records, nil
}

// Follow implements [Stream].
func (s *stream) Follow(ctx context.Context, topic string, after uint64, f func(Record) error) error {
	filter, err := s.filter(topic)
	if err != nil {
		return err
	}
	return s.follow(ctx, filter, after, func(m stored) error {
		r, err := s.record(m)
		if err != nil {
			return err
		}
		return f(r)
	})
}

// Newest implements [Stream].
func (s *stream) Newest(ctx context.Context, topic string) (Record, error) {
	filter, err := s.filter(topic)
	if err != nil {
		return Record{}, err
	}
	m, err := s.last(ctx, filter)
	if err != nil {
		return Record{}, err
	}
	return s.record(m)
}

// Last implements [Stream].
func (s *stream) Last(ctx context.Context, topic string) (uint64, error) {
	if topic == "" {
		state, err := s.state(ctx)
		return state.LastSeq, err
	}
	filter, err := s.filter(topic)
	if err != nil {
		return 0, err
	}
	m, err := s.last(ctx, filter)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return m.sequence, err
}

// First implements [Stream].
func (s *stream) First(ctx context.Context) (uint64, error) {
	state, err := s.state(ctx)
	return state.FirstSeq, err
}

// Purge implements [Stream].
func (s *stream) Purge(ctx context.Context, topic string) error {
	filter, err := s.filter(topic)
	if err != nil {
		return err
	}
	return s.link.do(ctx, func(ctx context.Context) error {
		if err := s.engine.Writable(); err != nil {
			return err
		}
		return s.stream.Purge(ctx, jetstream.WithPurgeSubject(filter))
	})
}

func (s *stream) filter(topic string) (string, error) {
	if topic == "" {
		return s.root + ">", nil
	}
	return topicFilter(s.root, topic)
}

// subject returns the subject of a record to be added.
func (s *stream) subject(topic string) (string, error) {
	if err := checkTopic(topic); err != nil {
		return "", err
	}
	return subjectOf(s.root, topic)
}

func (s *stream) record(m stored) (Record, error) {
	topic, err := decode(strings.TrimPrefix(m.subject, s.root))
	if err != nil {
		return Record{}, fmt.Errorf("record %d of %s, subject %.80q: %w", m.sequence, s.name, m.subject, err)
	}
	return Record{Sequence: m.sequence, Topic: topic, Time: m.time, Data: m.data}, nil
}
