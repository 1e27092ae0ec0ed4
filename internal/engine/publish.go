package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The header of a bucket's message that marks a key as deleted, as in the server's own key-value
// buckets.
const (
	operationHeader = "KV-Operation"
	operationDelete = "DEL"
)

// A write is a message to be stored.
type write struct {
	subject string
	data    []byte
	id      string        // "": a new one
	expect  *uint64       // the subject must have this last sequence number; nil: no condition
	deleted bool          // it marks a key as deleted
	ttl     time.Duration // it expires after this time; 0: never
}

// publish stores a message and returns its sequence number.
//
// Every message has an id, which the server remembers. So a message whose acknowledgement was lost,
// together with the server, the connection or the leader of a cluster, can be sent again and is
// stored once.
func (b *backing) publish(ctx context.Context, w write) (uint64, error) {
	msg := w.message()
	if limit := b.engine.nc.MaxPayload() - headroom; int64(len(w.data)) > limit {
		return 0, fmt.Errorf("%d bytes: %w: it takes up to %d", len(w.data), ErrTooLarge, limit)
	}
	var ack *jetstream.PubAck
	begin := time.Now()
	unsure := false // an earlier try may have been stored
	err := b.link.do(ctx, func(ctx context.Context) error {
		a, err := b.engine.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
		ack, unsure = a, unsure || mayHaveArrived(err)
		if err != nil && unanswered(err) {
			if fault := b.engine.fault(begin, len(w.data)); fault != nil {
				return fault // a full disk does not become free while we wait
			}
		}
		return err
	})
	switch {
	case err == nil:
		b.engine.wrote(begin)
		return ack.Sequence, nil
	case wrongSequence(err) && (unsure || w.id != ""):
		return b.resolveRefused(ctx, w, msg.Header.Get(nats.MsgIdHdr), unsure)
	case wrongSequence(err):
		return 0, ErrConflict
	}
	return 0, err
}

// mayHaveArrived reports whether a try without an answer may have been stored.
func mayHaveArrived(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrStaleConnection)
}

// resolveRefused finds out why the server refused a write for its sequence number. Either the write
// was stored before, by an earlier try or by a write with the same id, or another writer has
// written. (A server that is not in a cluster compares sequence numbers before it checks the id.)
// If our write was stored, it is the next message of its subject after the expected one.
//
// A bucket has only the last value of a key, so the answer may be unknown.
func (b *backing) resolveRefused(ctx context.Context, w write, id string, unsure bool) (uint64, error) {
	var next stored
	_, err := b.scan(ctx, w.subject, *w.expect, func(m stored) bool {
		next = m
		return false
	})
	switch {
	case err != nil:
		return 0, err
	case next.header.Get(nats.MsgIdHdr) == id:
		return next.sequence, nil
	case unsure && b.forgets:
		return 0, ErrUncertain
	}
	return 0, ErrConflict
}

func wrongSequence(err error) bool {
	return hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence) || hasCode(err, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

func hasCode(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
}

func (w write) message() *nats.Msg {
	msg := nats.NewMsg(w.subject)
	msg.Data = w.data
	msg.Header.Set(nats.MsgIdHdr, messageID(w.id))
	if w.expect != nil {
		msg.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(*w.expect, 10))
	}
	if w.deleted {
		msg.Header.Set(operationHeader, operationDelete)
	}
	if w.ttl > 0 {
		msg.Header.Set("Nats-TTL", strconv.Itoa(int(w.ttl.Seconds())))
	}
	return msg
}

// messageID returns an id in the form of a header: a random one, the caller's own, or a hash of
// that. The first letter tells them apart.
func messageID(id string) string {
	if id == "" {
		return generatedPrefix + rand.Text()
	}
	ok := len(id) <= 128
	for i := range len(id) {
		ok = ok && id[i] > ' ' && id[i] < 0x7f
	}
	if ok {
		return "c" + id
	}
	sum := sha256.Sum256([]byte(id))
	return "h" + hex.EncodeToString(sum[:])
}

const generatedPrefix = "m"

// isGenerated reports whether the caller set no id.
func isGenerated(id string) bool { return strings.HasPrefix(id, generatedPrefix) }
