package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	// A batch has at most batchMessages messages, and ends with the message that exceeds
	// batchBytes.
	batchMessages, batchBytes = 512, 8 << 20
	// The headers in which the server describes a message.
	headerSubject  = "Nats-Subject"
	headerSequence = "Nats-Sequence"
	headerTime     = "Nats-Time-Stamp"
	headerPending  = "Nats-Num-Pending"
	headerStatus   = "Status"
)

// A stored is a stored message.
type stored struct {
	sequence uint64
	subject  string
	time     time.Time
	header   nats.Header
	data     []byte
}

// last returns the last message of a subject, which may have wildcards.
func (b *backing) last(ctx context.Context, subject string) (stored, error) {
	var m stored
	err := b.link.do(ctx, func(ctx context.Context) (err error) {
		if b.exact {
			m, err = b.lastDirect(ctx, subject)
		} else {
			m, err = b.lastLeader(ctx, subject)
		}
		return err
	})
	return m, err
}

// lastDirect asks any server that has a copy.
func (b *backing) lastDirect(ctx context.Context, subject string) (stored, error) {
	msg, err := b.engine.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+b.name, body(getRequest{LastFor: subject}))
	if err != nil {
		return stored{}, err
	}
	if b.engine.replacing() {
		return stored{}, errReplacing
	}
	if status := msg.Header.Get(headerStatus); status != "" {
		return stored{}, statusError(status)
	}
	return parseStored(msg)
}

// lastLeader asks the leader of a replicated stream. Other servers may not have the latest writes
// yet, and a caller must read its own writes.
func (b *backing) lastLeader(ctx context.Context, subject string) (stored, error) {
	msg, err := b.engine.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+b.name, body(getRequest{LastFor: subject}))
	if err != nil {
		return stored{}, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return stored{}, fmt.Errorf("the server's answer: %w", err)
	}
	if answer.Error != nil {
		if answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return stored{}, ErrNotFound
		}
		return stored{}, answer.Error
	}
	m := stored{sequence: answer.Message.Sequence, subject: answer.Message.Subject, time: answer.Message.Time, data: answer.Message.Data}
	if len(answer.Message.Header) > 0 {
		m.header, err = nats.DecodeHeadersMsg(answer.Message.Header)
	}
	return m, err
}

// A getRequest is the server's request for stored messages.
type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`

	NoHeaders   bool     `json:"no_hdr,omitempty"`
	LastForEach []string `json:"multi_last,omitempty"`
}

func body(r getRequest) []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and encoded names can always be encoded as JSON
	}
	return b
}

// scan calls f in order with every message of a filter after a sequence number, at least up to the
// last one that existed when scan began. It ends early if f returns false. It returns the sequence
// number that it reached.
func (b *backing) scan(ctx context.Context, filter string, after uint64, f func(stored) bool) (uint64, error) {
	return b.scanSome(ctx, filter, after, batchMessages, f)
}

// scanSome is scan for callers that need only a few messages. The server then sends no more than
// these.
func (b *backing) scanSome(ctx context.Context, filter string, after uint64, few int, f func(stored) bool) (uint64, error) {
	until, err := b.scanEnd(ctx, filter)
	if err != nil {
		return after, err
	}
	for wait := firstPause; ; {
		r := &batch{backing: b, filter: filter, most: min(few, batchMessages), after: after, f: f}
		if err := b.link.gather(ctx, r.run); err != nil {
			return r.after, err
		}
		moved := r.after > after
		after = r.after
		if r.stopped || r.pending == 0 && after >= until {
			return after, nil
		}
		if moved {
			continue
		}
		// A copy that is behind has answered, or the last message was deleted meanwhile.
		pause.For(ctx, wait)
		wait = min(2*wait, lastPause)
		if until, err = b.scanEnd(ctx, filter); err != nil {
			return after, err
		}
	}
}

// scanEnd returns the sequence number that a scan must reach. It is 0 if there is only one copy,
// whose own end counts.
func (b *backing) scanEnd(ctx context.Context, filter string) (uint64, error) {
	if b.exact {
		return 0, nil
	}
	m, err := b.last(ctx, filter)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return m.sequence, err
}

// serverFilter returns the form of a filter that the server handles fastest. For a filter that
// matches all messages, it would otherwise search the index of all subjects.
func (b *backing) serverFilter(filter string) string {
	if filter == b.root+">" {
		return ">"
	}
	return filter
}

// A batch is one request for many messages. If it was cut off, the next run continues after the
// last message.
type batch struct {
	*backing
	filter string
	among  []string // ask for the last message of each of these subjects, instead of a filter
	most   int      // how many messages
	f      func(stored) bool

	after   uint64 // the last message that f has seen
	pending uint64 // how many messages follow
	stopped bool   // f returned false
}

func (r *batch) run(ctx context.Context, over <-chan struct{}) error {
	req := getRequest{Seq: r.after + 1, NextFor: r.serverFilter(r.filter), Batch: r.most, MaxBytes: batchBytes, LastForEach: r.among}
	return r.ask(ctx, over, req, r.take)
}

// ask requests up to req.Batch messages, and calls take with each message of the answer until take
// is done. It gives up if no message comes for attemptWait, or if the channel over is closed before
// the first message.
func (b *backing) ask(ctx context.Context, over <-chan struct{}, req getRequest, take func(*nats.Msg) (done bool, err error)) error {
	// The channel has room for the whole answer, so the connection never waits and never drops a
	// message.
	messages := make(chan *nats.Msg, req.Batch+1)
	inbox := b.engine.nc.NewInbox()
	sub, err := b.engine.nc.ChanSubscribe(inbox, messages)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is lost, and the subscription with it
	if err := b.engine.nc.PublishRequest("$JS.API.DIRECT.GET."+b.name, inbox, body(req)); err != nil {
		return err
	}
	return collect(ctx, over, messages, take)
}

// collect calls take with the messages of an answer as they come.
func collect(ctx context.Context, over <-chan struct{}, messages <-chan *nats.Msg, take func(*nats.Msg) (done bool, err error)) error {
	silence := time.NewTicker(attemptWait)
	defer silence.Stop()
	came := false // since the last tick
	for {
		select {
		case msg := <-messages:
			if done, err := take(msg); done || err != nil {
				return err
			}
			came, over = true, nil
		case <-silence.C:
			if !came {
				return nats.ErrTimeout
			}
			came = false
		case <-over:
			return nats.ErrTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take handles one message of the answer.
func (r *batch) take(msg *nats.Msg) (done bool, err error) {
	if r.engine.replacing() {
		return true, errReplacing
	}
	switch status := msg.Header.Get(headerStatus); status {
	case "":
	case "204": // the end of the batch
		r.pending, err = strconv.ParseUint(msg.Header.Get(headerPending), 10, 64)
		return true, err
	case "404": // no messages
		r.pending = 0
		return true, nil
	default:
		return true, statusError(status)
	}
	m, err := parseStored(msg)
	if err != nil {
		return true, err
	}
	r.after = m.sequence
	r.stopped = !r.f(m)
	return r.stopped, nil
}

// statusError returns the error for a status that was sent instead of a message.
func statusError(status string) error {
	switch status {
	case "404":
		return ErrNotFound
	case "503":
		return nats.ErrNoResponders
	}
	return fmt.Errorf("the server refuses to read: status %.20q", status)
}

// parseStored decodes a message that the server sent.
func parseStored(msg *nats.Msg) (stored, error) {
	sequence, err := strconv.ParseUint(msg.Header.Get(headerSequence), 10, 64)
	if err != nil {
		return stored{}, fmt.Errorf("sequence number of a stored message: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, msg.Header.Get(headerTime))
	if err != nil {
		return stored{}, fmt.Errorf("time of a stored message: %w", err)
	}
	return stored{sequence: sequence, subject: msg.Header.Get(headerSubject), time: at, header: msg.Header, data: msg.Data}, nil
}
