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
	// The server says every so often that there is nothing new. After two that did not come, it is
	// asked anew: a server that dies takes the followers' places with it, and in a cluster the
	// connection may be with another one. In an embedded engine there is no other one, and the
	// heart may beat slowly.
	heartbeatCluster, heartbeatEmbedded = 2 * time.Second, 15 * time.Second
	// forgetAfter is when the server forgets the place of a follower who did not say good-bye.
	forgetAfter = 30 * time.Second
)

// follow calls f with every message of a filter after a sequence number, then with each as it
// comes, until ctx ends or f returns an error, which is returned. It lives through the loss of the
// connection, and of the server: it knows how far it came, and never relies on the server to know.
// No message is left out and none comes twice.
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
		if err != nil && !errors.Is(err, ErrUnavailable) { // who follows has all the time there is
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
	there []uint64 // the numbers that the stream had behind an earlier one, when it was last asked; see missing
	err   error    // of f's
}

// run follows for as long as the connection stands and the server keeps the place. Its error is for
// what does not pass.
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

// read hands on what comes until the connection, the server or the place is gone, or something is
// missing. Then it begins anew after the last message seen.
func (t *tail) read(ctx context.Context, messages *pull) {
	for t.err == nil {
		msg, err := messages.next(ctx)
		if errors.Is(err, errLost) {
			t.engine.log.Warn("engine: a follower reads again what did not reach it", "stream", t.name, "after", t.after, "err", err)
		}
		if err != nil || t.passedOver(ctx, msg) {
			return
		}
		t.take(msg)
	}
}

// passedOver tells whether the server has left out a message between the last one and this one. It
// was never seen to do so, but its own count would have no hole then. Numbers that are not there
// may be of messages that were deleted, so the stream is asked. That is done for those alone who
// follow everything: in a part of a stream there are holes everywhere.
func (t *tail) passedOver(ctx context.Context, msg *nats.Msg) bool {
	meta, err := msg.Metadata()
	if err != nil || meta.Sequence.Stream <= t.after+1 || t.filter != t.root+">" {
		return false
	}
	missing, err := t.missing(ctx, meta.Sequence.Stream)
	if missing != 0 {
		t.engine.log.Warn("engine: a follower reads again what the server left out", "stream", t.name, "after", t.after, "missing", missing)
	}
	return missing != 0 || err != nil // where the stream could not be asked, it is read again when it can be
}

// missing is the number of the first message that the stream has between the last one and number n;
// 0: it has none. It asks for the messages behind that too: where a session was deleted there are
// many holes, and a request for each takes long.
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

// nothingBefore tells whether the stream is known to have no message between the last one and
// number n. Numbers only grow, so what was not there is not added later.
func (t *tail) nothingBefore(n uint64) bool {
	i, found := slices.BinarySearch(t.there, n)
	return found && (i == 0 || t.there[i-1] <= t.after)
}

// heartbeat is how often the server is to say that there is nothing new.
func (b *backing) heartbeat() time.Duration {
	if b.engine.node != nil {
		return heartbeatEmbedded
	}
	return heartbeatCluster
}

// place asks the server for a place to follow from. Each try is for another one: a place given on a
// server that is just dying cannot be had again.
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

// deletePlace says good-bye. If nobody hears it, the server finds out after forgetAfter.
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

// take hands one message on, unless it was seen already.
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
