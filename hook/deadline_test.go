package hook

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadline(t *testing.T) {
	t.Run("Done is closed at the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := withDeadline(t.Context(), time.Now().Add(time.Minute))
			defer c.end()
			began := time.Now()
			<-c.Done()
			if time.Since(began) != time.Minute || !errors.Is(c.Err(), context.DeadlineExceeded) {
				t.Errorf("after %s: %v", time.Since(began), c.Err())
			}
		})
	})
	t.Run("Err reports the deadline without a call of Done", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := withDeadline(t.Context(), time.Now().Add(time.Minute))
			defer c.end()
			if err := c.Err(); err != nil {
				t.Errorf("before: %v", err)
			}
			time.Sleep(time.Minute)
			if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after: %v", err)
			}
		})
	})
	t.Run("it ends with the caller's context", func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		waited, asked := withDeadline(parent, time.Now().Add(time.Hour)), withDeadline(parent, time.Now().Add(time.Hour))
		defer waited.end()
		done := waited.Done()
		cancel()
		<-done
		if !errors.Is(asked.Err(), context.Canceled) || !errors.Is(waited.Err(), context.Canceled) {
			t.Errorf("asked %v, waited %v", asked.Err(), waited.Err())
		}
	})
	t.Run("an earlier deadline of the caller counts", func(t *testing.T) {
		parent, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := withDeadline(parent, time.Now().Add(time.Hour))
		at, _ := c.Deadline()
		if want, _ := parent.Deadline(); !at.Equal(want) {
			t.Errorf("deadline %s, want %s", at, want)
		}
	})
	t.Run("Done is closed after end", func(t *testing.T) {
		c := withDeadline(t.Context(), time.Now().Add(time.Hour))
		c.end()
		<-c.Done()
	})
	t.Run("contexts made from it end with it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := withDeadline(t.Context(), time.Now().Add(time.Minute))
			defer c.end()
			child, cancel := context.WithCancel(c)
			defer cancel()
			<-child.Done()
			if !errors.Is(child.Err(), context.DeadlineExceeded) {
				t.Errorf("child: %v", child.Err())
			}
		})
	})
}
