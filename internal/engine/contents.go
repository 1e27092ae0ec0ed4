package engine

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go"
)

// contentsMessages is how many messages one request asks for if only their data is needed. With
// each request the server counts the remaining messages, so many requests cost more.
const contentsMessages = 4096

// headerLast is the sequence number of the last message of a batch, in the status at its end.
const headerLast = "Nats-Last-Sequence"

// Contents implements [Stream]. It asks a server with one copy to leave out the headers of
// messages: encoding and decoding them takes most of the time for many small messages.
func (s *stream) Contents(ctx context.Context, topic string, after uint64) (data [][]byte, last uint64, err error) {
	filter, err := s.filter(topic)
	if err != nil {
		return nil, 0, err
	}
	if !s.exact {
		return s.contentsByRecord(ctx, topic, after)
	}
	r := &contents{backing: s.backing, request: getRequest{NextFor: s.serverFilter(filter), Batch: contentsMessages, MaxBytes: batchBytes, NoHeaders: true}, after: after}
	for more := true; more; more = r.pending > 0 {
		if err := s.link.gather(ctx, r.run); err != nil {
			return nil, 0, err
		}
	}
	if len(r.data) == 0 {
		return nil, 0, nil
	}
	return r.data, r.after, nil
}

func (s *stream) contentsByRecord(ctx context.Context, topic string, after uint64) (data [][]byte, last uint64, err error) {
	records, err := s.Read(ctx, topic, after, 0)
	for _, r := range records {
		data, last = append(data, r.Data), r.Sequence
	}
	return data, last, err
}

// A contents reads the data of messages. The server tells the sequence number of the last message
// only at the end of its answer, so an answer that was cut off is requested again from its
// beginning.
type contents struct {
	*backing
	request getRequest

	data    [][]byte // of the complete answers
	after   uint64   // the last message of those
	pending uint64   // how many messages follow
}

func (r *contents) run(ctx context.Context, over <-chan struct{}) error {
	r.request.Seq = r.after + 1
	var some [][]byte
	return r.ask(ctx, over, r.request, func(msg *nats.Msg) (done bool, err error) {
		if r.engine.replacing() {
			return true, errReplacing
		}
		switch status := msg.Header.Get(headerStatus); status {
		case "":
			some = append(some, msg.Data)
			return false, nil
		case "204":
			return true, r.end(msg.Header, some)
		case "404":
			r.pending = 0
			return true, nil
		default:
			return true, statusError(status)
		}
	})
}

// end accepts a complete answer.
func (r *contents) end(header nats.Header, some [][]byte) error {
	pending, err := strconv.ParseUint(header.Get(headerPending), 10, 64)
	if err != nil {
		return err
	}
	last, err := strconv.ParseUint(header.Get(headerLast), 10, 64)
	if err != nil {
		return err
	}
	r.data, r.after, r.pending = append(r.data, some...), last, pending
	return nil
}
