package proc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeChild is a child without a process.
type fakeChild struct {
	pid  int
	done chan struct{}
	once sync.Once
	exit Exit
}

func (m *fakeChild) Pid() int              { return m.pid }
func (m *fakeChild) Done() <-chan struct{} { return m.done }
func (m *fakeChild) Exit() Exit            { return m.exit }
func (m *fakeChild) Stderr() string        { return "last words\n" }

func (m *fakeChild) Stop(context.Context, Ladder) Exit {
	m.die(Exit{Code: -1, Signal: "SIGKILL"})
	return m.exit
}

func (m *fakeChild) die(exit Exit) {
	m.once.Do(func() {
		m.exit = exit
		close(m.done)
	})
}

// fakeOpener opens children of type fakeChild. Each has a number, and runs until a test ends it.
type fakeOpener struct {
	born   []*fakeChild
	opened []time.Time
	fail   int           // this many opens fail
	slow   time.Duration // how long an open takes
	closed []int
	exits  []Exit
	errs   []error
	counts []int
}

var errNotYet = errors.New("not yet")

func (n *fakeOpener) open(ctx context.Context) (int, child, error) {
	n.opened = append(n.opened, time.Now())
	select {
	case <-time.After(n.slow):
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	if n.fail > 0 {
		n.fail--
		return 0, nil, errNotYet
	}
	m := &fakeChild{pid: len(n.born) + 1, done: make(chan struct{})}
	n.born = append(n.born, m)
	return m.pid, m, nil
}

func (n *fakeOpener) keep(t *testing.T) *Kept[int] {
	k, err := keep(t.Context(), KeepOptions[int]{
		Close:     func(i int) { n.closed = append(n.closed, i) },
		OnExit:    func(e Exit, _ string) { n.exits = append(n.exits, e) },
		OnRetry:   func(err error) { n.errs = append(n.errs, err) },
		OnRestart: func(i int) { n.counts = append(n.counts, i) },
	}, n.open)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// waits returns the times between one opening and the next.
func (n *fakeOpener) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(n.opened); i++ {
		waits = append(waits, n.opened[i].Sub(n.opened[i-1]))
	}
	return waits
}

func (n *fakeOpener) youngest() *fakeChild { return n.born[len(n.born)-1] }

func TestKeep(t *testing.T) {
	const ms = time.Millisecond
	crash := Exit{Code: 1}

	t.Run("the first failure is returned, not retried", func(t *testing.T) {
		n := fakeOpener{fail: 1}
		if _, err := keep(t.Context(), KeepOptions[int]{}, n.open); !errors.Is(err, errNotYet) || len(n.opened) != 1 {
			t.Errorf("%v after %d tries", err, len(n.opened))
		}
	})
	t.Run("a process that ended is opened again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			n.youngest().die(crash)
			synctest.Wait()
			if _, err := k.Get(); err == nil || k.Pid() != 0 {
				t.Errorf("%v, pid %d", err, k.Pid())
			}
			time.Sleep(minBackoff)
			synctest.Wait()
			if thing, err := k.Get(); thing != 2 || err != nil || k.Pid() != 2 || k.Restarts() != 1 {
				t.Errorf("%d, %v, pid %d, %d restarts", thing, err, k.Pid(), k.Restarts())
			}
			k.Stop(nil)
			if !slices.Equal(n.closed, []int{1, 2}) || !slices.Equal(n.exits, []Exit{crash}) || !slices.Equal(n.counts, []int{1}) {
				t.Errorf("closed %v, exits %v, restarts %v", n.closed, n.exits, n.counts)
			}
		})
	})
	t.Run("the waits are 100 ms, doubled each time, at most 30 s", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			n.fail = 10
			n.youngest().die(crash)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30 * time.Second, 30 * time.Second}
			if got := n.waits(); !slices.Equal(got, want) {
				t.Errorf("%v", got)
			}
			if len(n.errs) != 10 {
				t.Errorf("%d failures reported", len(n.errs))
			}
			k.Stop(nil)
		})
	})
	t.Run("Replace opens another process without a wait, however often", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			for i := 1; i <= 9; i++ {
				err := k.Replace(t.Context(), func(thing int) {
					if thing != i {
						t.Errorf("ends %d, want %d", thing, i)
					}
					time.Sleep(time.Second) // fake time: it writes its state to disk
				})
				if thing, down := k.Get(); thing != i+1 || err != nil || down != nil {
					t.Fatalf("%d, %v, %v", thing, err, down)
				}
			}
			n.youngest().die(crash)
			time.Sleep(time.Minute)
			synctest.Wait()
			want := append(slices.Repeat([]time.Duration{time.Second}, 9), 100*ms) // a crash waits as the first one
			if got := n.waits(); !slices.Equal(got, want) {
				t.Errorf("%v", got)
			}
			k.Stop(nil)
			if !slices.Equal(n.exits, []Exit{crash}) {
				t.Errorf("reported as ended: %v", n.exits)
			}
		})
	})
	t.Run("Replace ends the wait of a process that is down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			n.fail = 11
			n.youngest().die(crash)
			time.Sleep(52 * time.Second) // fake time: the next try is at 81.1 s
			synctest.Wait()
			n.fail = 1
			end := func(int) { t.Error("there is no process to end") }
			if err := k.Replace(t.Context(), end); !errors.Is(err, errNotYet) {
				t.Errorf("the first attempt: %v", err)
			}
			if err := k.Replace(t.Context(), end); err != nil {
				t.Error(err)
			}
			if _, err := k.Get(); err != nil {
				t.Error(err)
			}
			k.Stop(nil)
		})
	})
	t.Run("Replace replaces a process that is being opened", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := fakeOpener{}
			k := n.keep(t)
			n.slow = time.Second
			n.youngest().die(crash)
			time.Sleep(minBackoff + ms)
			var ended []int
			err := k.Replace(t.Context(), func(thing int) { ended = append(ended, thing) })
			if thing, down := k.Get(); thing != 3 || err != nil || down != nil || !slices.Equal(ended, []int{2}) {
				t.Errorf("%d, %v, %v: ended %v", thing, err, down, ended)
			}
			n.youngest().die(crash)
			time.Sleep(minBackoff / 2)
			synctest.Wait()
			if len(n.opened) != 3 {
				t.Error("a crash after that does not wait")
			}
			k.Stop(nil)
		})
	})
	t.Run("Stop ends Replace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			n.slow = time.Hour
			done := make(chan error, 1)
			go func() { done <- k.Replace(t.Context(), func(int) {}) }()
			synctest.Wait()
			k.Stop(nil)
			if err := <-done; !errors.Is(err, ErrStopped) && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if err := k.Replace(t.Context(), nil); !errors.Is(err, ErrStopped) {
				t.Error(err)
			}
		})
	})
	t.Run("a short life does not reset the waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			for range 3 {
				n.youngest().die(crash)
				time.Sleep(time.Second)
				synctest.Wait()
			}
			// It ended at 0, 1 and 2 s, and was up again 100, 200 and 400 ms later.
			if want := []time.Duration{100 * ms, 1100 * ms, 1200 * ms}; !slices.Equal(n.waits(), want) {
				t.Errorf("%v", n.waits())
			}
			k.Stop(nil)
		})
	})
	t.Run("a long life resets the waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			n.fail = 8
			n.youngest().die(crash)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			n.youngest().die(crash)
			died := time.Now()
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := n.opened[len(n.opened)-1].Sub(died); got != minBackoff {
				t.Errorf("%v", got)
			}
			k.Stop(nil)
		})
	})
	t.Run("Get says why it is down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			n.fail = 1
			n.youngest().die(crash)
			_, early := k.Get() // before loop has noticed
			synctest.Wait()
			_, err := k.Get()
			for _, err := range []error{early, err} {
				var down *DownError
				if !errors.As(err, &down) || down.Exit != crash || !strings.Contains(err.Error(), "exit code 1 (stderr: last words)") {
					t.Errorf("%v", err)
				}
			}
			time.Sleep(minBackoff)
			synctest.Wait()
			if _, err := k.Get(); !errors.Is(err, errNotYet) {
				t.Errorf("%v", err)
			}
			k.Stop(nil)
		})
	})
	t.Run("Restart kills it and gives the reason", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			k.Restart("no reply to health.check")
			synctest.Wait()
			k.Restart("again") // there is no process to kill
			if _, err := k.Get(); err == nil || err.Error() != "restarting: no reply to health.check" {
				t.Errorf("%v", err)
			}
			time.Sleep(minBackoff)
			synctest.Wait()
			if thing, err := k.Get(); thing != 2 || err != nil {
				t.Errorf("%d, %v", thing, err)
			}
			k.Stop(nil)
		})
	})
	t.Run("Stop while it is down ends the waiting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var n fakeOpener
			k := n.keep(t)
			n.youngest().die(crash)
			synctest.Wait()
			k.Stop(nil)
			k.Stop(nil)
			if _, err := k.Get(); !errors.Is(err, ErrStopped) {
				t.Errorf("%v", err)
			}
			if !slices.Equal(n.closed, []int{1}) || len(n.opened) != 1 {
				t.Errorf("closed %v, opened %d times", n.closed, len(n.opened))
			}
		})
	})
}

func TestBackoff(t *testing.T) {
	b := Backoff{Min: time.Second, Max: 3 * time.Second}
	for n, want := range []time.Duration{0, 1, 2, 3, 3} {
		if got := b.after(n); got != want*time.Second {
			t.Errorf("after %d: %v", n, got)
		}
	}
	if got := (Backoff{}).after(1 << 30); got != maxBackoff {
		t.Errorf("%v", got)
	}
}
