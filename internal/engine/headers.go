package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

// headerSize is the size of a message whose content the server leaves out.
const headerSize = "Nats-Msg-Size"

// Keys implements [Bucket].
func (b *bucket) Keys(ctx context.Context, prefix string) ([]string, error) {
	sizes, err := b.Sizes(ctx, prefix)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(sizes))
	for i, s := range sizes {
		keys[i] = s.Key
	}
	return keys, nil
}

// Sizes implements [Bucket]. Like snapshot it finds every key, and a key that changes meanwhile
// possibly twice.
func (b *bucket) Sizes(ctx context.Context, prefix string) ([]Size, error) {
	filter, err := filterOf(b.root, prefix)
	if err != nil {
		return nil, err
	}
	found := make(map[string]int)
	err = b.headers(ctx, filter, func(m stored) error {
		v, err := b.value(m)
		if err != nil || !strings.HasPrefix(v.Key, prefix) {
			return err
		}
		if v.Deleted {
			delete(found, v.Key)
			return nil
		}
		found[v.Key], err = strconv.Atoi(m.header.Get(headerSize))
		return err
	})
	if err != nil {
		return nil, err
	}
	sizes := make([]Size, 0, len(found))
	for key, bytes := range found {
		sizes = append(sizes, Size{key, bytes})
	}
	slices.SortFunc(sizes, func(a, b Size) int { return strings.Compare(a.Key, b.Key) })
	return sizes, nil
}

// headers calls f in order with every message of a filter, without its content. It goes as far as
// [backing.scan] does.
func (b *backing) headers(ctx context.Context, filter string, f func(stored) error) error {
	until, err := b.scanEnd(ctx, filter)
	if err != nil {
		return err
	}
	r := &outline{backing: b, filter: filter, f: f}
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		before := r.after
		if err := b.link.do(ctx, r.run); err != nil {
			return err
		}
		if r.after >= until {
			return nil
		}
		// A copy that is behind has answered, or the last message was deleted meanwhile.
		if r.after > before {
			wait = firstPause
		}
		pause.For(ctx, wait)
		if until, err = b.scanEnd(ctx, filter); err != nil {
			return err
		}
	}
}

// An outline reads messages without their content. If it was cut off, the next run continues after
// the last message.
type outline struct {
	*backing
	filter string
	f      func(stored) error

	after uint64 // the last message that f has seen
}

// run reads to the current end. The server has a place for it meanwhile, as for a follower.
func (o *outline) run(ctx context.Context) error {
	consumer, err := o.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Name:              "outline_" + rand.Text(),
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       o.after + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		FilterSubject:     o.filter,
		HeadersOnly:       true,
		InactiveThreshold: forgetAfter,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return err
	}
	place := consumer.CachedInfo().Name
	defer (&tail{backing: o.backing}).deletePlace(ctx, consumer)
	if consumer.CachedInfo().NumPending == 0 {
		return nil
	}
	for more := true; more; {
		if more, err = o.fetch(ctx, place); err != nil {
			return err
		}
	}
	return nil
}

// fetch asks for a batch, and reports whether there may be more.
func (o *outline) fetch(ctx context.Context, place string) (more bool, err error) {
	// The channel has room for the whole answer, so the connection never waits and never drops a
	// message.
	messages := make(chan *nats.Msg, batchMessages+1)
	inbox := o.engine.nc.NewInbox()
	sub, err := o.engine.nc.ChanSubscribe(inbox, messages)
	if err != nil {
		return false, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is lost, and the subscription with it
	text, err := json.Marshal(struct {
		Batch  int  `json:"batch"`
		NoWait bool `json:"no_wait"`
	}{batchMessages, true})
	if err != nil {
		return false, err
	}
	if err := o.engine.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+o.name+"."+place, inbox, text); err != nil {
		return false, err
	}
	for range batchMessages {
		select {
		case msg := <-messages:
			if more, err := o.take(msg); !more || err != nil {
				return false, err
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return true, nil
}

// errCut ends an attempt that must continue after the last message.
var errCut = fmt.Errorf("the server ended a listing: %w", nats.ErrTimeout)

// take handles one message of the answer.
func (o *outline) take(msg *nats.Msg) (more bool, err error) {
	if o.engine.replacing() {
		return false, errReplacing
	}
	if status := msg.Header.Get(headerStatus); status != "" && msg.Reply == "" {
		if status == "404" { // the end
			return false, nil
		}
		return false, errors.Join(errCut, statusError(status))
	}
	meta, err := msg.Metadata()
	if err != nil {
		return false, err
	}
	m := stored{sequence: meta.Sequence.Stream, subject: msg.Subject, time: meta.Timestamp, header: msg.Header}
	if err := o.f(m); err != nil {
		return false, err
	}
	o.after = m.sequence
	return true, nil
}
