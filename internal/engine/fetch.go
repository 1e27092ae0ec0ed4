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
	// A batch has at most so many messages, and ends with the one that exceeds so many bytes.
	batchMessages, batchBytes = 512, 8 << 20
	// headerSubject and the others are what the server tells about a message it was asked for.
	headerSubject  = "Nats-Subject"
	headerSequence = "Nats-Sequence"
	headerTime     = "Nats-Time-Stamp"
	headerPending  = "Nats-Num-Pending"
	headerStatus   = "Status"
)

// A stored message.
type stored struct {
	sequence uint64
	subject  string
	time     time.Time
	header   nats.Header
	data     []byte
}

// last is the last message of a subject, which may have wildcards.
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

// lastDirect asks whoever has a copy.
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

// lastLeader asks the leader of a replicated stream. Others may not have heard of the latest writes
// yet, and who has just written must read what was written.
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
		panic(err) // numbers and encoded names
	}
	return b
}

// scan calls f with every message of a filter after a sequence number, in order, up to the last one
// that was there when scan began, and beyond that as far as it happens to come. It ends early when
// f returns false. It returns how far it came.
func (b *backing) scan(ctx context.Context, filter string, after uint64, f func(stored) bool) (uint64, error) {
	return b.scanSome(ctx, filter, after, batchMessages, f)
}

// scanSome is scan for who knows that f wants no more than a few messages, which are then all that
// the server sends.
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
		// A copy that lags behind answered, or the last message is gone meanwhile.
		pause.For(ctx, wait)
		wait = min(2*wait, lastPause)
		if until, err = b.scanEnd(ctx, filter); err != nil {
			return after, err
		}
	}
}

// scanEnd is how far a scan must come. Where there is one copy, its own end is the end.
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

// serverFilter is a filter as the server is quickest with it. For one that means all messages it would
// walk the index of all subjects otherwise.
func (b *backing) serverFilter(filter string) string {
	if filter == b.root+">" {
		return ">"
	}
	return filter
}

// A batch is one request for many messages. Asked again after it was cut off, it goes on where it
// was.
type batch struct {
	*backing
	filter string
	among  []string // the last message of each of these subjects is wanted, in place of a filter
	most   int      // messages
	f      func(stored) bool

	after   uint64 // the last message that f has seen
	pending uint64 // how many there are beyond
	stopped bool   // by f
}

func (r *batch) run(ctx context.Context, over <-chan struct{}) error {
	req := getRequest{Seq: r.after + 1, NextFor: r.serverFilter(r.filter), Batch: r.most, MaxBytes: batchBytes, LastForEach: r.among}
	return r.ask(ctx, over, req, r.take)
}

// ask requests up to req.Batch messages, and has take look at each message of the answer until it
// is done. It gives up when none has come for attemptWait, and when the first has not come before
// over is closed.
func (b *backing) ask(ctx context.Context, over <-chan struct{}, req getRequest, take func(*nats.Msg) (done bool, err error)) error {
	// The channel can hold the answer whole: the connection never waits for us, and never drops a
	// message.
	messages := make(chan *nats.Msg, req.Batch+1)
	inbox := b.engine.nc.NewInbox()
	sub, err := b.engine.nc.ChanSubscribe(inbox, messages)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only when the connection is gone, and the subscription with it
	if err := b.engine.nc.PublishRequest("$JS.API.DIRECT.GET."+b.name, inbox, body(req)); err != nil {
		return err
	}
	return collect(ctx, over, messages, take)
}

// collect has take look at the messages of an answer as they come.
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

// take looks at one message of the answer.
func (r *batch) take(msg *nats.Msg) (done bool, err error) {
	if r.engine.replacing() {
		return true, errReplacing
	}
	switch status := msg.Header.Get(headerStatus); status {
	case "":
	case "204": // the end of the batch
		r.pending, err = strconv.ParseUint(msg.Header.Get(headerPending), 10, 64)
		return true, err
	case "404": // nothing there
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

// statusError is what a status that stands in the place of a message means.
func statusError(status string) error {
	switch status {
	case "404":
		return ErrNotFound
	case "503":
		return nats.ErrNoResponders
	}
	return fmt.Errorf("the server refuses to read: status %.20q", status)
}

// parseStored reads what the server tells about a message.
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
