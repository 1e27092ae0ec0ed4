package sessionstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/skewed"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// needHolders skips a test on systems that do not show whether a process is alive.
func needHolders(t *testing.T) {
	t.Helper()
	if lease.Self().State() != lease.Alive {
		t.Skipf("%s does not show whether a process is alive", runtime.GOOS)
	}
}

// lasting returns a store whose leases do not expire during a test.
func lasting(e engine.Store) *Store {
	s := New(e)
	s.ttl = time.Hour
	return s
}

// TestTakeover checks that the lease of a killed process of this machine is taken over at once, and
// that of a living process is not.
func TestTakeover(t *testing.T) {
	needHolders(t)
	for name, owns := range map[string]bool{"a guest of the engine": false, "the owner of the engine": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var s *Store
			id := ""
			if owns {
				id = prepare(t, dir)
			} else {
				s = lasting(embedded.Engine(t, dir))
				id = create(t, s, session.Session{}).ID
			}
			waiter := startFake(t, "hold", dir, id)
			if !waiter.says.Scan() || waiter.says.Text() != "begun" {
				t.Fatalf("got %q", waiter.says.Text())
			}
			if owns {
				s = lasting(embedded.Engine(t, dir))
			}
			var busy *session.BusyError
			if _, err := s.Begin(t.Context(), id, BeginOptions{}); !errors.As(err, &busy) || busy.Owner != "fake" {
				t.Fatalf("while it lives: %v", err)
			}
			if err := waiter.process.Kill(); err != nil {
				t.Fatal(err)
			}
			waiter.says.Scan() // to the end of its output
			_, _ = waiter.process.Wait()
			end(t, begin(t, s, id, BeginOptions{}), session.Done)
			if got := outline(t, s, id); got != "began interrupted began done" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestNothingRunsTwice: the holder of a session is dead, but a process that it started still runs,
// because the guardian was killed too. The session is taken over only when that process has been
// killed.
func TestNothingRunsTwice(t *testing.T) {
	needHolders(t)
	s := lasting(embedded.Engine(t, t.TempDir()))
	id := create(t, s, session.Session{}).ID
	group := proc.NewGroup(nil)
	left, err := group.Start(t.Context(), proc.Spec{Path: "/bin/sleep", Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	dead := claim{Token: "t", Owner: "dead", Holder: lease.Self(group.Mark())}
	dead.Holder.Start++ // another process had the number
	plant(t, s, id, dead)
	turn := begin(t, s, id, BeginOptions{})
	eventually.True(t, "the process of the other turn is reaped", left.Ended)
	end(t, turn, session.Done)
	if err := group.Close(); err != nil {
		t.Fatal(err)
	}
}

// plant begins a turn by hand with the given claim, which may be invalid; nil: without one.
func plant(t *testing.T, s *Store, id string, claim any) {
	t.Helper()
	data, ok := claim.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(claim); err != nil {
			t.Fatal(err)
		}
	}
	text, err := (&state{}).encode(session.Entry{Turn: "turn_planted", Time: time.Now(), Status: session.Began}, json.RawMessage(data))
	if err == nil {
		_, err = s.opened.transcripts.Append(t.Context(), engine.Append{Topic: id, Data: text})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// remoteClaim returns the claim of a process on another machine.
func remoteClaim() claim {
	return claim{Token: "t", Owner: "afar", Holder: lease.Holder{Machine: "another", PID: 1, Start: 1, Name: "afar"}}
}

// TestDamagedLease checks that a lease that cannot be read is taken over, and that this is logged.
func TestDamagedLease(t *testing.T) {
	s := lasting(embedded.Engine(t, t.TempDir()))
	const old = `{"token":"x","owner":"process 1 on vm","turn":"t","since":"2026-01-01T00:00:00Z"}`
	for name, c := range map[string]struct{ claim, beat string }{
		"garbage": {claim: `"x"`}, "half": {claim: `{"token":"x"}`}, "nothing": {claim: `{}`}, "without a holder": {claim: old},
		"of an earlier version": {beat: old}, "garbage of an earlier version": {beat: "\x00\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s.Logger = slog.New(slog.NewTextHandler(&log, nil))
			id := create(t, s, session.Session{}).ID
			plant(t, s, id, []byte(c.claim))
			leave := func() {
				if _, err := s.opened.leases.Put(t.Context(), id, []byte(c.beat)); err != nil {
					t.Fatal(err)
				}
			}
			leave()
			turn := begin(t, s, id, BeginOptions{})
			if text := log.String(); strings.Count(text, "damaged") != 1 || !strings.Contains(text, id) {
				t.Errorf("told %q", text)
			}
			leave() // once more, in the middle of the turn
			if err := turn.lease.renew(t.Context()); err != nil {
				t.Errorf("renewed: %v", err)
			}
			end(t, turn, session.Done)
		})
	}
}

// TestExpiryIsByTheEngine checks that a lease of another machine expires after its period, not
// before, and also if no engine was running meanwhile.
func TestExpiryIsByTheEngine(t *testing.T) {
	dir := t.TempDir()
	e, err := engine.Open(t.Context(), engine.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := shortLived(e)
	id := create(t, s, session.Session{}).ID
	plant(t, s, id, remoteClaim())
	var busy *session.BusyError
	if _, err := s.Begin(t.Context(), id, BeginOptions{}); !errors.As(err, &busy) || busy.Owner != "afar" {
		t.Fatalf("got %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(shortTTL) // while no engine runs
	s = shortLived(embedded.Engine(t, dir))
	end(t, begin(t, s, id, BeginOptions{}), session.Done)
}

// TestClockJumps moves the engine's clock by an hour in both directions. A running turn keeps its
// session, and a turn whose machine died does not keep it for an hour.
func TestClockJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := shortLived(embedded.Engine(t, t.TempDir()))
			s.ttl = 3 * shortTTL            // a busy machine renews late
			s.Holder = remoteClaim().Holder // its process number is not valid here
			living, dead := create(t, s, session.Session{}).ID, create(t, s, session.Session{}).ID
			clock := skewed.New(s.opened.leases)
			s.opened.leases = clock
			turn := begin(t, s, living, BeginOptions{Owner: "runs"})
			plant(t, s, dead, remoteClaim())
			clock.Jump(jump)
			var busy *session.BusyError
			if _, err := s.Begin(t.Context(), living, BeginOptions{}); !errors.As(err, &busy) || busy.Owner != "runs" {
				t.Errorf("a turn that runs: %v", err)
			}
			appendTo(t, turn, user("still mine"))
			end(t, turn, session.Done)
			end(t, beginWhenFree(t, s, dead), session.Done)
		})
	}
}

// TestALeaseThatCannotBeGivenBack checks that the next turn of the same store does not wait if the
// engine refuses to write the end, as on a full disk.
func TestALeaseThatCannotBeGivenBack(t *testing.T) {
	s := lasting(embedded.Engine(t, t.TempDir()))
	id := create(t, s, session.Session{}).ID
	p, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turn := begin(t, s, id, BeginOptions{})
	full := *p
	full.transcripts = stuck{p.transcripts}
	turn.parts = &full
	if err := turn.End(t.Context(), session.Done); err == nil {
		t.Error("the end was written nevertheless")
	}
	end(t, begin(t, s, id, BeginOptions{}), session.Done)
}

// TestTurnsOfAnEarlierVersion checks turns whose entries do not have a claim, but the bucket has
// it.
func TestTurnsOfAnEarlierVersion(t *testing.T) {
	s := shortLived(embedded.Engine(t, t.TempDir()))
	id := create(t, s, session.Session{}).ID
	plant(t, s, id, []byte(nil))
	data, err := json.Marshal(remoteClaim())
	if err == nil {
		_, err = s.opened.leases.Put(t.Context(), id, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	var busy *session.BusyError
	if _, err := s.Begin(t.Context(), id, BeginOptions{}); !errors.As(err, &busy) || busy.Owner != "afar" {
		t.Errorf("got %v", err)
	}
	end(t, beginWhenFree(t, s, id), session.Done)
	if got := outline(t, s, id); got != "began interrupted began done" {
		t.Errorf("got %s", got)
	}
}

// A stuck stream refuses every append.
type stuck struct{ engine.Stream }

func (stuck) Append(context.Context, engine.Append) (uint64, error) {
	return 0, errors.New("no space left on device")
}
