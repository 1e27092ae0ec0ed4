package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	// A follower has a place on the server: a consumer of NATS, which sends it the messages. The
	// server sends a heartbeat if there is nothing new. After two missing ones the follower asks
	// again: if a server dies, its places are gone, and in a cluster the connection may be to
	// another server. An embedded engine has only one server, and can send heartbeats less often.
	heartbeatCluster, heartbeatEmbedded = 2 * time.Second, 15 * time.Second
	// forgetAfter is when the server deletes the place of a follower that has gone without deleting
	// it.
	forgetAfter = 30 * time.Second
)

// follow calls f with every message of a filter after a sequence number, and then with each new
// one, until ctx ends or f returns an error, which it returns. It survives the loss of the
// connection and of the server, because it remembers the last message itself. It leaves out no
// message and repeats none.
func (b *backing) follow(ctx context.Context, filter string, after uint64, f func(stored) error) error {
	return (&tail{backing: b, filter: filter, beat: b.heartbeat(), after: after, f: f}).follow(ctx)
}

func (t *tail) follow(ctx context.Context) error {
	for wait := firstPause; ; {
		before := t.after
		err := t.run(ctx)
		if t.err != nil {
			return t.err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, ErrUnavailable) { // a follower waits without limit
			return err
		}
		if t.after > before {
			wait = firstPause
		}
		pause.For(ctx, wait)
		wait = min(2*wait, lastPause)
	}
}

// A tail is one follower.
type tail struct {
	*backing
	filter string
	beat   time.Duration // see heartbeat
	f      func(stored) error

	after uint64   // the last message that f has seen
	there []uint64 // numbers of messages that the stream had when it was last asked; see missing
	err   error    // the error of f
}

// run follows while the connection lasts and the server keeps the place. It returns an error if
// trying again is useless, or [ErrUnavailable].
func (t *tail) run(ctx context.Context) error {
	life, err := t.link.wait(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()

	consumer, err := t.place(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer t.deletePlace(ctx, consumer)
	messages, err := t.pull(consumer.CachedInfo().Name, t.beat)
	if err != nil {
		return err
	}
	defer messages.close()
	t.read(ctx, messages)
	return nil
}

// read passes messages on until the connection, the server or the place is lost, or a message is
// missing. Then the caller starts again after the last message.
func (t *tail) read(ctx context.Context, messages *pull) {
	for t.err == nil {
		msg, err := messages.next(ctx)
		if errors.Is(err, errLost) {
			t.engine.log.Warn("engine: a follower reads messages again that did not arrive", "stream", t.name, "after", t.after, "err", err)
		}
		if err != nil || t.passedOver(ctx, msg) {
			return
		}
		t.take(msg)
	}
}

// passedOver reports whether the server left out a message between the last one and this one. No
// server was ever seen to do so. But if one did, [pull.count] would not notice it: a server numbers
// the messages that it sends from a place without gaps. A gap in the stream's own numbers may be a
// deleted message, so passedOver asks the stream. It does so only for followers of all messages,
// because a filter leaves gaps everywhere.
func (t *tail) passedOver(ctx context.Context, msg *nats.Msg) bool {
	meta, err := msg.Metadata()
	if err != nil || meta.Sequence.Stream <= t.after+1 || t.filter != t.root+">" {
		return false
	}
	missing, err := t.missing(ctx, meta.Sequence.Stream)
	if missing != 0 {
		t.engine.log.Warn("engine: a follower reads messages again that the server left out", "stream", t.name, "after", t.after, "missing", missing)
	}
	return missing != 0 || err != nil // if the stream could not be asked, read again later
}

// missing returns the number of the first message of the stream between the last one and number n,
// or 0 if there is none. Each request also asks for later messages, and t.there keeps their
// numbers: after a session was deleted there are many gaps, and one request for each would take
// long.
func (t *tail) missing(ctx context.Context, n uint64) (uint64, error) {
	if t.nothingBefore(n) {
		return 0, nil
	}
	t.there = t.there[:0]
	r := &batch{backing: t.backing, filter: t.filter, most: pullMessages, after: t.after, f: func(m stored) bool {
		t.there = append(t.there, m.sequence)
		return true
	}}
	if err := t.link.gather(ctx, r.run); err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	if len(t.there) == 0 || t.there[0] >= n {
		return 0, nil
	}
	return t.there[0], nil
}

// nothingBefore reports whether the stream is known to have no message between the last one and
// number n. Numbers only grow, so no message is added there later.
func (t *tail) nothingBefore(n uint64) bool {
	i, found := slices.BinarySearch(t.there, n)
	return found && (i == 0 || t.there[i-1] <= t.after)
}

// heartbeat returns how often the server should send a heartbeat.
func (b *backing) heartbeat() time.Duration {
	if b.engine.node != nil {
		return heartbeatEmbedded
	}
	return heartbeatCluster
}

// place creates a place on the server from which to follow. Each try creates a new one, because a
// place on a server that is dying cannot be used again.
func (t *tail) place(ctx context.Context) (jetstream.Consumer, error) {
	want := jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       t.after + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		FilterSubject:     t.filter,
		InactiveThreshold: forgetAfter,
		MemoryStorage:     true,
		Replicas:          1,
	}
	var consumer jetstream.Consumer
	err := t.link.do(ctx, func(ctx context.Context) (err error) {
		want.Name = "follow_" + rand.Text()
		consumer, err = t.stream.CreateConsumer(ctx, want)
		return err
	})
	return consumer, err
}

// deletePlace deletes the place. If the server does not get the request, it deletes the place after
// forgetAfter.
func (t *tail) deletePlace(ctx context.Context, consumer jetstream.Consumer) {
	if !t.link.isConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptWait)
	defer cancel()
	if err := t.stream.DeleteConsumer(ctx, consumer.CachedInfo().Name); err != nil {
		t.engine.log.Debug("engine: follower not removed", "stream", t.name, "err", err)
	}
}

// take passes one message on, unless it was seen before.
func (t *tail) take(msg *nats.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		t.err = err
		return
	}
	if meta.Sequence.Stream <= t.after {
		return
	}
	t.err = t.f(stored{
		sequence: meta.Sequence.Stream, subject: msg.Subject, time: meta.Timestamp, header: msg.Header, data: msg.Data,
	})
	t.after = meta.Sequence.Stream
}
