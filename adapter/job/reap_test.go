package job

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/skewed"
	"github.com/patchbay-dev/patchbay/internal/lease"
)

// needHolders skips a test if the system cannot tell whether a process lives.
func needHolders(t *testing.T) {
	t.Helper()
	if lease.Self().State() != lease.Alive {
		t.Skip("the system does not tell which process holds a run")
	}
}

// claimManualAt claims a manual run.
func claimManualAt(t *testing.T, r *Runner, m *Manifest, minute int) *claim {
	t.Helper()
	o := newOrder(m, &m.Schedules[0], historyBegan.Add(time.Duration(minute)*time.Minute), true)
	c, err := r.claim(t.Context(), o, m, &m.Schedules[0])
	if err != nil || c == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	return c
}

// TestCrash: if a process was killed, its attempt is recorded as failed and its directory is
// removed. The next manual run begins immediately, without a skipped record, and its success is a
// recovery.
func TestCrash(t *testing.T) {
	needHolders(t)
	ok := func() Attempt { return Attempt{Number: 1, Result: OK, Ended: time.Now()} }
	for _, c := range []struct {
		rule   string
		manual bool
		waits  bool // the process died while it waited, after a first failure
		told   string
		status Status
	}{
		{"a run by hand", true, false, "[attempt_failed given_up success recovered]", GivenUp},
		{"a run by hand, in the wait", true, true, "[attempt_failed given_up success recovered]", GivenUp},
		{"a run of a schedule goes on", false, false, "[attempt_failed]", Waiting},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s, p := openStore(t)
			r, m, told := newRunner(s)
			var texts []string
			tell := r.Report
			r.Report = func(n Report) {
				tell(n)
				texts = append(texts, text(n.Message()))
			}
			claimed := func(minute int) *claim {
				if c.manual {
					return claimManualAt(t, r, m, minute)
				}
				one, err := claimAt(t.Context(), r, m, minute)
				if err != nil {
					t.Fatal(err)
				}
				return one
			}
			dead := claimed(1)
			if err := os.Mkdir(dead.hold.Tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dead.hold.Tmp, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.waits {
				if err := dead.trySaveResult(t.Context(), Attempt{Number: 1, Result: Failed, Ended: time.Now()}, ""); err != nil {
					t.Fatal(err)
				}
			}
			die(t, p)
			next := claimed(2)
			if _, err := os.Stat(dead.hold.Tmp); err == nil {
				t.Errorf("%s is left", dead.hold.Tmp)
			}
			if (next != nil) != c.manual {
				t.Fatalf("the next run: %+v", next)
			}
			if next != nil {
				if err := next.trySaveResult(t.Context(), ok(), ""); err != nil {
					t.Fatal(err)
				}
			}
			run, err := s.Run(t.Context(), dead.run.ID)
			if err != nil || run.Status != c.status {
				t.Errorf("%+v, %v", run, err)
			}
			if want := map[bool]Result{true: Failed, false: CutOff}[c.waits]; run.Attempts[0].Result != want {
				t.Errorf("%+v", run.Attempts)
			}
			if fmt.Sprint(*told) != c.told {
				t.Errorf("told %v, want %s", *told, c.told)
			}
			if c.manual && (strings.Contains(texts[0], "next attempt") != c.waits || !strings.HasPrefix(texts[1], "a (s): given up after 1 of 2 attempts")) {
				t.Errorf("told %q", texts)
			}
			runs, err := s.Runs(t.Context(), "", 0)
			for _, one := range runs {
				if c.manual && one.Status == Skipped {
					t.Errorf("a skipped record: %+v, %v", one, err)
				}
			}
		})
	}
	t.Run("a run whose cancellation is requested is cancelled", func(t *testing.T) {
		s, p := openStore(t)
		r, m, told := newRunner(s)
		c, err := claimAt(t.Context(), r, m, 1)
		if err != nil {
			t.Fatal(err)
		}
		die(t, p)
		run, err := (&Runner{Store: s, Owner: "other"}).Cancel(t.Context(), c.run.ID)
		if err != nil || run.Status != Cancelled || len(*told) != 0 {
			t.Errorf("%+v, %v, told %v", run, err, *told)
		}
	})
}

// TestRemoveTmpIsCareful: removeTmp removes only the directory of an attempt, even if the page was
// tampered with.
func TestRemoveTmpIsCareful(t *testing.T) {
	r, m, _ := newRunner(nil)
	for name, change := range map[string]func(*hold, string){
		"another directory":       func(h *hold, dir string) { h.Tmp = dir },
		"another name":            func(h *hold, dir string) { h.Tmp = filepath.Join(dir, "x-"+h.Token) },
		"a token that is guessed": func(h *hold, dir string) { h.Token, h.Tmp = "x", filepath.Join(dir, "patchbay-a-x") },
	} {
		t.Run(name, func(t *testing.T) {
			h := r.newHold(m)
			change(&h, t.TempDir())
			if err := os.MkdirAll(h.Tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := h.removeTmp(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(h.Tmp); err != nil {
				t.Errorf("it was removed: %v", err)
			}
		})
	}
}

// TestDamagedPage: a run that cannot be read does not block its schedule. The rest of the page is
// kept, and the damage is logged.
func TestDamagedPage(t *testing.T) {
	for name, data := range map[string]string{
		"garbage":              "\x00",
		"a run without an id":  `{"agent":"a","schedule":"s","streak":3,"run":{"status":"running"}}`,
		"a run that is a text": `{"agent":"a","schedule":"s","streak":3,"run":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			s, p := openStore(t)
			var log bytes.Buffer
			p.log = slog.New(slog.NewTextHandler(&log, nil))
			r, m, _ := newRunner(s)
			if _, err := p.states.Put(t.Context(), "a/s", []byte(data)); err != nil {
				t.Fatal(err)
			}
			c := claimManualAt(t, r, m, 1)
			if err := c.trySaveResult(t.Context(), Attempt{Number: 1, Result: OK, Ended: time.Now()}, ""); err != nil {
				t.Fatal(err)
			}
			states, err := s.States(t.Context())
			if st := states["a/s"]; err != nil || st.Streak != map[bool]int{true: 1, false: 4}[name == "garbage"] || st.Last != Succeeded {
				t.Errorf("%+v, %v", states, err)
			}
			if !strings.Contains(log.String(), "damaged") {
				t.Errorf("told %q", log.String())
			}
		})
	}
}

// TestClockJumps: the engine's clock jumps an hour either way. A run of another machine that writes
// heartbeats is not reaped. A run that has died is reaped in the usual time.
func TestClockJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := openStore(t)
			s.beat = 1500 * time.Millisecond // long enough for a busy machine
			clock := skewed.New(p.beats)
			p.beats, p.judge = clock, &lease.Judge{TTL: 3 * s.beat}
			r, m, _ := newRunner(s)
			r.Holder = lease.Holder{Machine: "another", PID: 1, Start: 1, Name: "afar"}
			c := claimManualAt(t, r, m, 1)
			alive, cancel := context.WithCancelCause(t.Context())
			stop := c.keepAlive(alive, cancel)
			clock.Jump(jump)
			for start := time.Now(); time.Since(start) < 2*p.judge.TTL; time.Sleep(p.judge.Pause()) {
				if verdict, err := r.reap(t.Context(), m, &m.Schedules[0]); err != nil || verdict == lease.Free {
					t.Fatalf("a run that is alive: %v, %v", verdict, err)
				}
			}
			if alive.Err() != nil {
				t.Errorf("the run was given up: %v", context.Cause(alive))
			}
			stop()
			cancel(nil)
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(p.judge.Pause()) {
				if verdict, err := r.reap(t.Context(), m, &m.Schedules[0]); err != nil || time.Now().After(deadline) {
					t.Fatalf("a run that died: %v, %v", verdict, err)
				} else if verdict == lease.Free {
					return
				}
			}
		})
	}
}
