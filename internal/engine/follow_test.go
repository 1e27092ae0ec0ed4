package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestFollowMissesNothing checks that a message that does not arrive is read again. The test takes
// it from the follower's place, as if it had been lost.
func TestFollowMissesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		t.Run("a message in the middle is lost", func(t *testing.T) { followWithLoss(t, e, "midst", pullMessages+50) })
		t.Run("the last message is lost", func(t *testing.T) { followWithLoss(t, e, "last", pullMessages+1) })
		t.Run("a follower that stalls", func(t *testing.T) { followStalled(t, e) })
		t.Run("a watcher", func(t *testing.T) { watchWithLoss(t, e) })
	})
}

// followWithLoss loses the message after those of the first request.
func followWithLoss(t *testing.T, e *Engine, name string, records int) {
	s := openStream(t, e, name).(*stream)
	fillStream(t, s, records)
	got := newReading(records)
	follower := &tail{backing: s.backing, filter: s.root + ">", beat: time.Second, f: func(m stored) error { // long enough for a busy machine
		if len(got.sequences) == 0 {
			takeNext(t, s.backing)
		}
		return got.add(m.sequence)
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := follower.follow(ctx); !errors.Is(err, errEnough) {
		t.Errorf("%d of %d records came: %v", len(got.sequences), records, err)
	}
	got.check(t)
}

// watchWithLoss loses a change that a watcher waits for.
func watchWithLoss(t *testing.T, e *Engine) {
	b := openBucket(t, e, BucketConfig{Name: "robbed"}).(*bucket)
	const changes = pullMessages + 50
	got := newReading(changes)
	write := func() error {
		for i := range changes {
			if _, err := b.Put(t.Context(), fmt.Sprint(i), nil); err != nil {
				return err
			}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := b.Watch(ctx, "", func(v *Value) error {
		if v == nil {
			return write()
		}
		if len(got.sequences) == 0 {
			takeNext(t, b.backing)
		}
		return got.add(v.Revision)
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("%d of %d changes came: %v", len(got.sequences), changes, err)
	}
	got.check(t)
}

// takeNext takes the next message from the place of the only follower, whose first request was
// fulfilled.
func takeNext(t *testing.T, b *backing) {
	t.Helper()
	place := awaitSent(t, b, func(place *jetstream.ConsumerInfo) bool { return place.Delivered.Consumer == pullMessages })
	consumer, err := b.stream.Consumer(t.Context(), place.Name)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if meta, err := msg.Metadata(); err != nil || meta.Sequence.Consumer != pullMessages+1 {
		t.Fatalf("taken away: %+v, %v", meta, err)
	}
}

// allSent reports whether the server has sent everything that a follower asked for. In a cluster it
// may report that too early: the server that sends the messages may not know the last ones yet.
func allSent(place *jetstream.ConsumerInfo) bool {
	return place.Delivered.Consumer > 0 && (place.Delivered.Consumer%pullMessages == 0 || place.NumPending == 0)
}

// awaitSent waits until sent says that the server has sent enough to the only follower, and until
// the connection has received it.
func awaitSent(t *testing.T, b *backing, sent func(place *jetstream.ConsumerInfo) bool) *jetstream.ConsumerInfo {
	t.Helper()
	var place *jetstream.ConsumerInfo
	eventually.True(t, "the server sends what the follower asked for", func() bool {
		places := 0 // a place that a follower has left may exist for a moment
		for info := range b.stream.ListConsumers(t.Context()).Info() {
			place = info
			places++
		}
		return places == 1 && sent(place)
	})
	if err := b.engine.nc.FlushTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	return place
}

// followStalled stops a follower at the end of each request and at the beginning of the next, until
// the server has sent everything that it asked for.
func followStalled(t *testing.T, e *Engine) {
	s := openStream(t, e, "stalled").(*stream)
	const records = 5*pullMessages + 7
	fillStream(t, s, records)
	got := newReading(records)
	err := s.Follow(t.Context(), "", 0, func(r Record) error {
		if at := r.Sequence % (pullMessages / 2); at < 3 {
			awaitSent(t, s.backing, allSent)
		}
		return got.add(r.Sequence)
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
	got.check(t)
}

// TestPullHoldsAll waits until the server has sent two requests with their statuses before the
// follower takes the first message. Nothing may be dropped: reading again is only for accidents.
func TestPullHoldsAll(t *testing.T) {
	var log bytes.Buffer
	e := open(t, Options{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s := openStream(t, e, "held").(*stream)
	fillStream(t, s, 2*pullMessages)
	follower := &tail{backing: s.backing, filter: s.root + ">"}
	consumer, err := follower.place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer follower.deletePlace(t.Context(), consumer)
	p, err := s.pull(consumer.CachedInfo().Name, heartbeatEmbedded)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for range 2 {
		if err := p.ask(); err != nil {
			t.Fatal(err)
		}
	}
	awaitSent(t, s.backing, func(place *jetstream.ConsumerInfo) bool { return place.Delivered.Consumer == 2*pullMessages })
	for i := range 2 * pullMessages {
		if _, err := p.next(t.Context()); err != nil {
			t.Fatalf("message %d: %v", i+1, err)
		}
	}
	if dropped, err := p.sub.Dropped(); err != nil || dropped != 0 || strings.Contains(log.String(), "slow consumer") {
		t.Errorf("%d dropped, %v\n%s", dropped, err, log.String())
	}
}

func fillStream(t *testing.T, s Stream, records int) {
	t.Helper()
	for i := range records {
		appendTo(t, s, "t", fmt.Sprint(i))
	}
}

// A reading collects messages that have the numbers from 1 on.
type reading struct {
	want      int
	sequences []uint64
}

func newReading(want int) *reading { return &reading{want: want} }

// add returns errEnough with the last message.
func (r *reading) add(sequence uint64) error {
	if r.sequences = append(r.sequences, sequence); sequence == uint64(r.want) {
		return errEnough
	}
	return nil
}

func (r *reading) check(t *testing.T) {
	t.Helper()
	for i, sequence := range r.sequences {
		if sequence != uint64(i+1) {
			t.Fatalf("%d came instead of %d", sequence, i+1)
		}
	}
	if len(r.sequences) != r.want {
		t.Errorf("%d came, not %d", len(r.sequences), r.want)
	}
}

// TestAMessageThatTheServerLeavesOut checks that a follower reads again if the server left out a
// message.
func TestAMessageThatTheServerLeavesOut(t *testing.T) {
	var log bytes.Buffer
	e := open(t, Options{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s := openStream(t, e, "left").(*stream)
	fillStream(t, s, 10)
	var taken []uint64
	follower := &tail{backing: s.backing, filter: s.root + ">", beat: heartbeatEmbedded, f: func(m stored) error { taken = append(taken, m.sequence); return nil }}
	follower.after = 6 // the server begins with 7, as if it had left out 6
	consumer, err := follower.place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer follower.deletePlace(t.Context(), consumer)
	p, err := s.pull(consumer.CachedInfo().Name, heartbeatEmbedded)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	follower.after = 5
	follower.read(t.Context(), p)
	if len(taken) != 0 || !strings.Contains(log.String(), "missing=6") {
		t.Errorf("took %v\n%s", taken, log.String())
	}
	if err := s.Purge(t.Context(), "t"); err != nil { // numbers of deleted messages are not missing
		t.Fatal(err)
	}
	appendTo(t, s, "t", "last")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follower.f = func(m stored) error { taken = append(taken, m.sequence); cancel(); return nil }
	if err := follower.follow(ctx); !errors.Is(err, context.Canceled) || len(taken) != 1 || taken[0] != 11 {
		t.Errorf("took %v, %v", taken, err)
	}
}

// TestManyHolesAreAskedForTogether checks that a follower does not make a request for each gap if
// every second message was deleted.
func TestManyHolesAreAskedForTogether(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	s := openStream(t, e, "holes").(*stream)
	const records = 2 * pullMessages
	for i := range records {
		appendTo(t, s, []string{"kept", "gone"}[i%2], fmt.Sprint(i))
	}
	if err := s.Purge(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	asked, err := e.nc.SubscribeSync("$JS.API.DIRECT.GET." + s.name)
	if err != nil {
		t.Fatal(err)
	}
	var taken []uint64
	err = s.Follow(t.Context(), "", 0, func(r Record) error {
		if taken = append(taken, r.Sequence); r.Sequence == records-1 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || len(taken) != records/2 {
		t.Errorf("%d of %d came: %v", len(taken), records/2, err)
	}
	if err := e.nc.FlushTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	if n, _, err := asked.Pending(); err != nil || n == 0 || n > 2 {
		t.Errorf("the stream was asked %d times, %v", n, err)
	}
}

// TestDeletedAfterItWasSeen checks that a follower does not read again because of a message that
// was deleted before the follower reached it.
func TestDeletedAfterItWasSeen(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	s := openStream(t, e, "late").(*stream)
	fillStream(t, s, 9)
	follower := &tail{backing: s.backing, filter: s.root + ">", after: 4, there: []uint64{5, 7, 9}}
	if follower.nothingBefore(9) {
		t.Error("7 counts as left out")
	}
	if err := s.Purge(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, "t", "last")
	if missing, err := follower.missing(t.Context(), 10); missing != 0 || err != nil {
		t.Errorf("%d is missing, %v", missing, err)
	}
	if !follower.nothingBefore(10) {
		t.Error("a deleted message is still expected")
	}
}
