package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// Those who follow get so many messages or bytes ahead. The bytes must be more than the largest message.
	aheadMessages, aheadBytes = 128, 3 * maxValue
	// The server says every so often that there is nothing new. After two that did not come, it is asked anew: a server
	// that dies takes the followers' places with it, and in a cluster the connection may be with another one. In an
	// embedded engine there is no other one, and the heart may beat slowly.
	heartbeatCluster, heartbeatEmbedded = 2 * time.Second, 15 * time.Second
	// forgetAfter is when the server forgets the place of a follower who did not say good-bye.
	forgetAfter = 30 * time.Second
)

// follow calls f with every message of a filter after a sequence number, then with each as it comes, until ctx ends or f
// returns an error, which is returned. It lives through the loss of the connection, and of the server: it knows how far
// it came, and never relies on the server to know. No message is left out and none comes twice.
func (b *backing) follow(ctx context.Context, filter string, after uint64, f func(stored) error) error {
	t := &tail{backing: b, filter: filter, after: after, f: f}
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
		pause(ctx, wait)
		wait = min(2*wait, lastPause)
	}
}

// A tail is one follower.
type tail struct {
	*backing
	filter string
	f      func(stored) error

	after uint64 // the last message that f has seen
	err   error  // of f's
}

// run follows for as long as the connection stands and the server keeps the place. Its error is for what does not pass.
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
	defer t.leave(ctx, consumer)
	messages, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(aheadMessages, aheadBytes),
		jetstream.PullHeartbeat(t.heartbeat()))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil { // the connection, the server or the place is gone: begin anew after the last message seen
			return nil
		}
		if t.take(msg); t.err != nil {
			return nil
		}
	}
}

func (t *tail) heartbeat() time.Duration {
	if t.engine.node != nil {
		return heartbeatEmbedded
	}
	return heartbeatCluster
}

// place asks the server for a place to follow from. Each try is for another one: a place given on a server that is just dying
// cannot be had again.
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

// leave says good-bye. If nobody hears it, the server finds out after forgetAfter.
func (t *tail) leave(ctx context.Context, consumer jetstream.Consumer) {
	if !t.link.stands() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptWait)
	defer cancel()
	if err := t.stream.DeleteConsumer(ctx, consumer.CachedInfo().Name); err != nil {
		t.engine.log.Debug("engine: follower not removed", "stream", t.name, "err", err)
	}
}

// take hands one message on, unless it was seen already.
func (t *tail) take(msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		t.err = err
		return
	}
	if meta.Sequence.Stream <= t.after {
		return
	}
	t.err = t.f(stored{
		sequence: meta.Sequence.Stream, subject: msg.Subject(), time: meta.Timestamp, header: msg.Headers(), data: msg.Data(),
	})
	t.after = meta.Sequence.Stream
}
