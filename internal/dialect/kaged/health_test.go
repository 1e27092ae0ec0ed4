package kaged

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// beating runs a heart for a minute of fake time. It returns when it pinged and when it found the
// plugin lost, in seconds.
func beating(t *testing.T, ping func(ctx context.Context) error) (pinged, lost []float64) {
	t.Helper()
	return beatingWith(t, &load{}, ping)
}

// beatingWith is beating with calls under way.
func beatingWith(t *testing.T, calls *load, ping func(ctx context.Context) error) (pinged, lost []float64) {
	t.Helper()
	start := time.Now()
	now := func() float64 { return time.Since(start).Seconds() }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := heart{every: 20 * time.Second, within: healthTimeout, gate: new(gate),
		ping: func(ctx context.Context) error { pinged = append(pinged, now()); return ping(ctx) },
		busy: calls.ended, lost: func(error) { lost = append(lost, now()) }}
	h.beat(ctx)
	return pinged, lost
}

func silence(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestHealth(t *testing.T) {
	fails := func(kind hook.Kind) func(context.Context) error {
		return func(context.Context) error { return hook.Failure(kind, errors.New("a cause")) }
	}
	for _, tc := range []struct {
		rule  string
		ping  func(ctx context.Context) error
		alive bool
	}{
		{"an answer is a sign of life", func(context.Context) error { return nil }, true},
		{"an error answer is a sign of life", fails(hook.Refused), true},
		{"a malformed answer is a sign of life", fails(hook.Garbled), true},
		{"an oversized answer is a sign of life", fails(hook.TooLarge), true},
		{"a plugin that is being restarted is not restarted again", fails(hook.Unavailable), true},
		{"a plugin that died is restarted by proc.Keep", fails(hook.Crash), true},
		{"a plugin that does not read is lost", func(context.Context) error { return wire.ErrBacklog }, false},
		{"silence is not a sign of life", silence, false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, lost := beating(t, tc.ping)
				if (len(lost) == 0) != tc.alive {
					t.Errorf("lost at %v", lost)
				}
			})
		})
	}
}

func TestHealthIsCheckedAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pinged, _ := beating(t, func(context.Context) error { return nil })
		if len(pinged) < 2 || pinged[0] != 20 || pinged[1] != 40 {
			t.Errorf("pinged at %v, want 20, 40", pinged)
		}
	})
}

func TestHealthWaitsFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, lost := beating(t, silence)
		if len(lost) < 2 || lost[0] != 25 || lost[1] != 45 {
			t.Errorf("lost at %v, want 25, 45", lost)
		}
	})
}

// TestHealthWaitsForANewProcess: while the process is replaced, no process can answer.
func TestHealthWaitsForANewProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var g gate
		var pinged []float64
		start := time.Now()
		h := heart{every: 10 * time.Second, within: healthTimeout, gate: &g, busy: (&load{}).ended,
			ping: func(context.Context) error {
				pinged = append(pinged, time.Since(start).Seconds())
				return nil
			},
			lost: func(err error) { t.Error("the new process was called lost:", err) }}
		if err := g.close(ctx); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(28*time.Second, g.open)
		h.beat(ctx)
		if len(pinged) < 2 || pinged[0] != 28 {
			t.Errorf("pinged at %v, want 28 first: the gate opened then", pinged)
		}
	})
}

func TestHealthEndsWithItsContextAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := heart{every: time.Second, within: healthTimeout, gate: new(gate), ping: silence, busy: (&load{}).ended,
			lost: func(error) { t.Error("a plugin that is being closed was called lost") }}
		done := make(chan struct{})
		go func() { h.beat(ctx); close(done) }()
		time.Sleep(2 * time.Second) // fake time: the ping is under way
		cancel()
		<-done
	})
}

// TestAPluginThatIsBusyIsAlive: the five seconds begin when the calls that came before the ping
// have ended: docs/protocols/kaged.md, row K82. New calls do not put off the end.
func TestAPluginThatIsBusyIsAlive(t *testing.T) {
	for _, tc := range []struct {
		rule   string
		begins []time.Duration // of calls that take 12 seconds
		answer time.Duration   // when the ping of 20 s is answered; 0: never
		lost   []float64
	}{
		{"a plugin that answers health.check after its call is alive", []time.Duration{19 * time.Second}, 32 * time.Second, nil},
		{"a plugin that does not answer five seconds after its call is lost", []time.Duration{19 * time.Second}, 0, []float64{36}},
		{"calls that come after health.check do not count", []time.Duration{19 * time.Second, 22 * time.Second, 30 * time.Second}, 0, []float64{36}},
		{"a call that came with health.check counts", []time.Duration{20*time.Second + countDelay/2}, 0, []float64{37.05}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls load
				start := time.Now()
				for _, at := range tc.begins {
					time.AfterFunc(at, func() {
						round := calls.begin()
						time.AfterFunc(12*time.Second, func() { calls.end(round) })
					})
				}
				_, lost := beatingWith(t, &calls, func(ctx context.Context) error {
					if time.Since(start) > 21*time.Second {
						return nil
					}
					if tc.answer == 0 {
						return silence(ctx)
					}
					time.Sleep(time.Until(start.Add(tc.answer))) // fake time
					return nil
				})
				if !slices.Equal(lost, tc.lost) {
					t.Errorf("lost at %v, want %v", lost, tc.lost)
				}
			})
		})
	}
}
