package wire

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSerialContext(t *testing.T) {
	t.Run("cancelling ends a call soon after it began", func(t *testing.T) { cancelDuring(t, 0) })
	t.Run("cancelling ends a call that waits for long", func(t *testing.T) { cancelDuring(t, 3*firstWait) })
	t.Run("a call without a deadline can be cancelled after a call that timed out", func(t *testing.T) {
		s, _, _ := newSerial(t, Options{})
		timeOut(t, s)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(2*firstWait, cancel)
		if _, err := s.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a context that is done sends nothing", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.Call(ctx, "first", nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("err = %v", err)
		}
		go func() { _, _ = s.Call(soon(t), "second", nil) }()
		if got := f.read(); !strings.Contains(got, "second") {
			t.Errorf("sent %s", got)
		}
		f.write(`{"id":1,"result":1}` + "\n")
	})
	t.Run("waiting for another call ends with the context", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Call(soon(t), "m", nil)
		}()
		f.read()
		if _, err := s.Call(never(t), "m", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		f.write(`{"id":1,"result":1}` + "\n")
		<-done
	})
	t.Run("the deadline of an earlier call does not end a later one", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		timeOut(t, s)
		f.read()
		go func() {
			f.read()
			time.AfterFunc(3*firstWait, func() { f.write(`{"id":2,"result":2}` + "\n") })
		}()
		if got, err := s.Call(context.Background(), "m", nil); err != nil || string(got) != "2" {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

func TestSerialWakesAtAnEarlierDeadline(t *testing.T) {
	s, _, _ := newSerial(t, Options{})
	s.arm(soon(t))
	if !s.armed {
		t.Fatal("the read has no deadline")
	}
	earlier, cancel := context.WithDeadline(context.Background(), s.wake.Add(-time.Millisecond))
	defer cancel()
	s.arm(earlier)
	if deadline, _ := earlier.Deadline(); !s.wake.Equal(deadline) {
		t.Errorf("wakes at %v, want the deadline %v", s.wake, deadline)
	}
	was := s.wake
	s.arm(soon(t))
	if !s.wake.Equal(was) {
		t.Error("a timer that comes early enough was set anew")
	}
}

// cancelDuring cancels a call some time after its request was sent, and checks that the next one
// works.
func cancelDuring(t *testing.T, after time.Duration) {
	s, f, heard := newSerial(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		f.read()
		time.AfterFunc(after, cancel)
	}()
	if _, err := s.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	f.play(`{"id":1,"result":1}` + "\n" + `{"id":2,"result":2}` + "\n")
	mustCall(t, s, "2")
	heard.wait(t, "late reply")
}
