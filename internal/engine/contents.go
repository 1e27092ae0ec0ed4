package engine

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go"
)

// contentsMessages is how many messages are asked for at once where only their data is wanted. Each
// request makes the server count the messages that are left, so many requests cost more.
const contentsMessages = 4096

// headerLast is the sequence number of the last message of a batch, at its end.
const headerLast = "Nats-Last-Sequence"

// Contents implements [Stream]. A server with one copy is asked to leave out the headers of
// messages: to write and to read them takes most of the time of reading many small messages.
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
// at the end of its answer alone: an answer that is cut off is asked for again from its beginning.
type contents struct {
	*backing
	request getRequest

	data    [][]byte // of the answers that are whole
	after   uint64   // the last message of those
	pending uint64   // how many there are beyond
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

// end takes over an answer that is whole.
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
