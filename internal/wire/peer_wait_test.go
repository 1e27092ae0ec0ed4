package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestPeerWaits: calls notice replies, deadlines and cancellations at each stage of waiting.
func TestPeerWaits(t *testing.T) {
	cancelled := func(t *testing.T, after time.Duration) {
		p, f, _ := newPeer(t, PeerOptions{})
		ctx, cancel := context.WithCancel(soon(t))
		done := start(ctx, p, "m")
		f.read()
		time.Sleep(after) // before or after the call is notified that the reply takes long
		cancel()
		if got := <-done; !errors.Is(got.err, context.Canceled) {
			t.Errorf("%s, %v", got.result, got.err)
		}
	}
	t.Run("a call that is cancelled at once ends", func(t *testing.T) { cancelled(t, 0) })
	t.Run("a call that is cancelled after some time ends", func(t *testing.T) { cancelled(t, 5*firstWait) })
	for _, limit := range []time.Duration{firstWait / 5, firstWait, 2*firstWait + time.Millisecond, 10 * firstWait} {
		t.Run("a deadline of "+limit.String()+" is met", func(t *testing.T) {
			p, _, _ := newPeer(t, PeerOptions{})
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			began := time.Now()
			_, err := p.Call(ctx, "m", nil)
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < limit {
				t.Errorf("%v after %v", err, took)
			}
		})
	}
	t.Run("a reply that comes late is a reply, and the next call has its own", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		for id := 1; id <= 8; id++ {
			done := start(soon(t), p, "m")
			f.read()
			time.Sleep(time.Duration(id) * firstWait / 2) // before, while and after the call is notified that the reply takes long
			f.write(fmt.Sprintf(`{"id":%d,"result":%d}`+"\n", id, id))
			if got := <-done; got.err != nil || got.result != fmt.Sprint(id) {
				t.Errorf("call %d got %s, %v", id, got.result, got.err)
			}
		}
	})
	t.Run("the clock does not tick while no call waits", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		f.play(`{"id":1,"result":1}` + "\n")
		if _, err := p.Call(soon(t), "m", nil); err != nil {
			t.Fatal(err)
		}
		ticking := func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.ticking
		}
		for end := time.Now().Add(patience); ticking(); time.Sleep(firstWait) {
			if time.Now().After(end) {
				t.Fatal("the clock still ticks")
			}
		}
	})
}
