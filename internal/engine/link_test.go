package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

func TestLink(t *testing.T) {
	t.Run("a request waits for the connection", inBubble(func(t *testing.T, l *link) {
		go func() {
			time.Sleep(10 * time.Second) // the bubble's clock
			l.connected()
		}()
		begin := time.Now()
		if err := l.do(t.Context(), func(context.Context) error { return nil }); err != nil || time.Since(begin) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	}))
	t.Run("a running request is repeated after the connection was lost", inBubble(func(t *testing.T, l *link) {
		l.connected()
		tries := 0
		err := l.do(t.Context(), func(ctx context.Context) error {
			if tries++; tries > 1 {
				return nil
			}
			l.lost()
			<-ctx.Done()
			l.connected()
			return ctx.Err()
		})
		if err != nil || tries != 2 {
			t.Errorf("%d tries, %v", tries, err)
		}
	}))
	t.Run("a request without an answer is repeated", inBubble(func(t *testing.T, l *link) {
		l.connected()
		tries := 0
		err := l.do(t.Context(), func(ctx context.Context) error {
			if tries++; tries == 3 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if err != nil || tries != 3 {
			t.Errorf("%d tries, %v", tries, err)
		}
	}))
	t.Run("an error that the server answers is not repeated", inBubble(func(t *testing.T, l *link) {
		l.connected()
		tries := 0
		err := l.do(t.Context(), func(context.Context) error { tries++; return ErrConflict })
		if !errors.Is(err, ErrConflict) || tries != 1 {
			t.Errorf("%d tries, %v", tries, err)
		}
	}))
	t.Run("patience ends, and the error names the last cause", inBubble(func(t *testing.T, l *link) {
		l.connected()
		begin := time.Now()
		err := l.do(t.Context(), func(context.Context) error { return nats.ErrNoResponders })
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, nats.ErrNoResponders) || time.Since(begin) != patience {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	}))
	t.Run("the caller's context ends it earlier", inBubble(func(t *testing.T, l *link) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := l.do(ctx, func(context.Context) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}))
	t.Run("the error names a known cause", inBubble(func(t *testing.T, l *link) {
		l.connected()
		l.trouble = func() error { return errEnough }
		if err := l.do(t.Context(), func(context.Context) error { return nats.ErrTimeout }); !errors.Is(err, errEnough) {
			t.Errorf("%v", err)
		}
	}))
	t.Run("closing ends every wait", inBubble(func(t *testing.T, l *link) {
		go func() {
			time.Sleep(time.Second)
			l.close()
		}()
		if err := l.do(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	}))
}

// TestGather checks that an answer of many messages is waited for as long as messages come.
func TestGather(t *testing.T) {
	end := func(*nats.Msg) (bool, error) { return true, nil }
	t.Run("it may take longer than our patience", inBubble(func(t *testing.T, l *link) {
		l.connected()
		tries, begin := 0, time.Now()
		const parts = 20
		err := l.gather(t.Context(), func(ctx context.Context, over <-chan struct{}) error {
			tries++
			messages := make(chan *nats.Msg)
			go func() {
				for range parts {
					time.Sleep(2 * time.Second)
					messages <- &nats.Msg{}
				}
			}()
			came := 0
			return collect(ctx, over, messages, func(*nats.Msg) (bool, error) { came++; return came == parts, nil })
		})
		if took := time.Since(begin); err != nil || tries != 1 || took != parts*2*time.Second || took < patience {
			t.Errorf("%d tries, %v, %v", tries, time.Since(begin), err)
		}
	}))
	t.Run("an incomplete answer is requested again", inBubble(func(t *testing.T, l *link) {
		l.connected()
		tries, begin := 0, time.Now()
		err := l.gather(t.Context(), func(ctx context.Context, over <-chan struct{}) error {
			messages := make(chan *nats.Msg, 1)
			messages <- &nats.Msg{}
			if tries++; tries == 2 {
				return collect(ctx, over, messages, end)
			}
			return collect(ctx, over, messages, func(*nats.Msg) (bool, error) { return false, nil })
		})
		if took := time.Since(begin); err != nil || tries != 2 || took < attemptWait || took > 2*attemptWait+lastPause {
			t.Errorf("%d tries, %v, %v", tries, took, err)
		}
	}))
	t.Run("an answer that is always incomplete is given up", inBubble(func(t *testing.T, l *link) {
		l.connected()
		begin := time.Now()
		err := l.gather(t.Context(), func(ctx context.Context, over <-chan struct{}) error {
			messages := make(chan *nats.Msg, 1)
			messages <- &nats.Msg{}
			return collect(ctx, over, messages, func(*nats.Msg) (bool, error) { return false, nil })
		})
		if took := time.Since(begin); !errors.Is(err, ErrUnavailable) || took < patience || took > patience+2*attemptWait {
			t.Errorf("%v after %v", err, took)
		}
	}))
	t.Run("an answer that never comes is given up in time", inBubble(func(t *testing.T, l *link) {
		l.connected()
		begin := time.Now()
		err := l.gather(t.Context(), func(ctx context.Context, over <-chan struct{}) error { return collect(ctx, over, nil, end) })
		if !errors.Is(err, ErrUnavailable) || time.Since(begin) != patience {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	}))
}

func inBubble(f func(*testing.T, *link)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, newLink()) })
	}
}
