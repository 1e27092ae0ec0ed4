package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func TestWatchdog(t *testing.T) {
	for _, c := range []struct {
		rule string
		do   func(ctx context.Context, w *watchdog) int
		code int
		took time.Duration // from the signal on
	}{
		{"a command that ends by itself", func(ctx context.Context, _ *watchdog) int { <-ctx.Done(); time.Sleep(5 * time.Second); return 7 }, 7, 5 * time.Second},
		{"a command that never ends", func(context.Context, *watchdog) int { time.Sleep(time.Hour); return 7 }, exitInterrupted, 10 * time.Second},
		{"a program in the foreground has no limit", func(_ context.Context, w *watchdog) int {
			defer w.yield()()
			time.Sleep(time.Minute)
			return 7
		}, 7, 59 * time.Second},
		{"the stages after the program have their own limit", func(_ context.Context, w *watchdog) int {
			end := w.yield()
			time.Sleep(30 * time.Second)
			end()
			time.Sleep(9 * time.Second)
			return 7
		}, 7, 38 * time.Second},
		{"the stages after the program end at their limit", func(_ context.Context, w *watchdog) int {
			end := w.yield()
			time.Sleep(30 * time.Second)
			end()
			time.Sleep(time.Hour)
			return 7
		}, exitInterrupted, 39 * time.Second},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				w := &watchdog{within: 10 * time.Second}
				code := w.run(ctx, io.Discard, func() int { return c.do(ctx, w) })
				if took := time.Since(began) - time.Second; code != c.code || took != c.took {
					t.Errorf("code %d after %s, want %d after %s", code, took, c.code, c.took)
				}
				time.Sleep(2 * time.Hour) // until the abandoned command has ended
			})
		})
	}
}

// TestEveryCommandHasAWatchdog: a command ends in time even if its output is not read.
func TestEveryCommandHasAWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		c := newConsole(t)
		var said plugtest.Log // the abandoned command may write too
		c.Out, c.Err = write, &said
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		code := Main(ctx, []string{"version"}, c.IO)
		if took := time.Since(began) - time.Second; code != exitInterrupted || took != endWithin {
			t.Errorf("code %d after %s, want %d after %s", code, took, exitInterrupted, endWithin)
		}
		_ = read.Close() // the abandoned command ends
		synctest.Wait()
		if !strings.Contains(said.String(), "interrupted, but did not end within 1m15s") {
			t.Errorf("stderr: %s", said.String())
		}
	})
}

func TestInterruptible(t *testing.T) {
	if got, err := interruptible(t.Context(), func() (int, error) { return 3, io.EOF }); got != 3 || !errors.Is(err, io.EOF) {
		t.Errorf("%d, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	read, write := io.Pipe()
	defer write.Close()
	if _, err := interruptible(ctx, func() ([]byte, error) { return io.ReadAll(read) }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}
