package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// The series of the sections about load.
const (
	nameSynced       = "1 session"
	nameSyncedMany   = "50 sessions at once"
	nameInProcess    = "in the process itself"
	nameOverHTTP     = "over HTTP, the clients on the same machine"
	nameManySessions = "200 sessions × 10 messages"
	nameWatched      = "50 sessions × 30 messages, 4 followers"
	nameCreated      = "4,000 sessions created by 8 clients"

	loadSessions = 50
	loadTurns    = 20 // of each session in one sample
)

// measureSynced counts a daemon's synced writes with strace: calls of fsync and fdatasync, and
// files opened with O_SYNC.
func measureSynced(ctx context.Context, e effort) ([]Series, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return []Series{{Name: nameSynced, Skip: "there is no strace: " + err.Error()}}, nil
	}
	return withDaemons(ctx, e, emptyHome, func(all []*side) ([]Series, error) {
		var out []Series
		for _, s := range all {
			for name, sessions := range map[string]int{nameSynced: 1, nameSyncedMany: loadSessions} {
				series := Series{Name: s.prefix + name}
				for range e.of(10) {
					n, err := s.syncs(ctx, strace, sessions)
					if err != nil {
						return nil, err
					}
					series.Rounds = append(series.Rounds, []float64{n})
				}
				out = append(out, series)
			}
		}
		slices.SortFunc(out, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
		return out, nil
	})
}

// syncs returns the number of synced writes for each message, with that many sessions at once. The
// sessions are warm.
func (s *side) syncs(ctx context.Context, strace string, sessions int) (float64, error) {
	const messages = 10
	ids := make([]string, sessions)
	err := atOnce(sessions, func(i int) (err error) {
		if ids[i], err = s.client.CreateSession(ctx); err != nil {
			return err
		}
		return s.sendMany(ctx, ids[i], 1)
	})
	if err != nil {
		return 0, err
	}
	if err := s.awaitEvents(ctx); err != nil {
		return 0, err
	}
	calls, err := s.traced(ctx, strace, func() error {
		err := atOnce(sessions, func(i int) error { return s.sendMany(ctx, ids[i], messages) })
		return errors.Join(err, s.awaitEvents(ctx))
	})
	return float64(calls) / messages / float64(sessions), err
}

func (s *side) sendMany(ctx context.Context, id string, n int) error {
	for range n {
		if _, err := s.client.Send(ctx, id, "how are you?"); err != nil {
			return err
		}
	}
	return nil
}

// quiet is how long awaitEvents waits for the next event. A daemon that has dropped events does not
// report the end of every turn.
const quiet = 3 * time.Second

// awaitEvents waits until the events of all turns so far are written: until followers have seen the
// end of each turn, or no event has come for quiet.
func (s *side) awaitEvents(ctx context.Context) error {
	counters, err := s.client.Metrics(ctx)
	if err != nil {
		return err
	}
	want := int(counters["patchbay_turns_total"])
	if s.ended >= want {
		return nil
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(quiet, cancel)
	defer silence.Stop()
	from := s.seen
	err = s.client.Follow(inner, &from, func(e drive.Event) error {
		silence.Reset(quiet)
		s.seen = e.ID
		if e.Kind == "turn.finished" {
			s.ended++
		}
		if s.ended >= want {
			return drive.ErrEnough
		}
		return nil
	})
	if inner.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// traced counts the daemon's synced writes while do runs.
func (s *side) traced(ctx context.Context, strace string, do func() error) (int, error) {
	out := filepath.Join(s.home, "strace.out")
	cmd := exec.CommandContext(ctx, strace, "-f", "-e", "trace=fsync,fdatasync,openat", "-o", out, "-p", strconv.Itoa(s.daemon.PID()))
	said, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	first := make([]byte, 4096)
	n, _ := said.Read(first) // "Process N attached", once all threads are
	if !bytes.Contains(first[:n], []byte("attached")) {
		return 0, errors.Join(fmt.Errorf("strace: %.300s", first[:n]), cmd.Process.Kill(), cmd.Wait())
	}
	err = do()
	_ = cmd.Process.Signal(os.Interrupt) // it detaches; if it ended early, the count shows it
	_ = cmd.Wait()                       // by the signal
	text, rerr := os.ReadFile(out)
	return countSyncs(text), errors.Join(err, rerr)
}

// countSyncs counts the synced writes in the output of strace. A call that another thread
// interrupted has two lines, and is counted once.
func countSyncs(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte("resumed>")) {
			continue
		}
		if bytes.Contains(line, []byte("fsync(")) || bytes.Contains(line, []byte("fdatasync(")) || bytes.Contains(line, []byte("O_SYNC")) {
			n++
		}
	}
	return n
}

// measureTurnLoad counts turns a second of many sessions at once: in the daemon's own process, and
// over HTTP.
func measureTurnLoad(ctx context.Context, e effort) ([]Series, error) {
	return withDaemons(ctx, e, emptyHome, func(all []*side) (out []Series, err error) {
		dir, err := os.MkdirTemp("", "bench-load-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		core, err := daemon.Open(ctx, daemon.Options{Host: pluginhost.Options{Environ: isolatedEnviron(dir), Dir: dir}})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, core.Close()) }()
		entrants := []entrant{{nameInProcess, coreLoad(core, dir)}}
		for _, s := range all {
			entrants = append(entrants, entrant{s.prefix + nameOverHTTP, s.load()})
		}
		return roundRobin(ctx, e.of(10), entrants)
	})
}

// coreLoad returns a turn of the benchmark in which 50 new sessions have loadTurns turns each.
func coreLoad(core *daemon.Core, dir string) turn {
	return func(ctx context.Context) ([]float64, error) {
		return rate(ctx, loadSessions, loadTurns,
			func(ctx context.Context) (string, error) {
				s, err := core.Sessions.Create(ctx, session.Session{WorkingDir: dir, Title: "load"})
				return s.ID, err
			},
			func(ctx context.Context, id string) error {
				_, err := core.Turn(ctx, daemon.TurnRequest{Session: id, Text: "how are you?"})
				return err
			})
	}
}

func (s *side) load() turn {
	return func(ctx context.Context) ([]float64, error) {
		return rate(ctx, loadSessions, loadTurns,
			func(ctx context.Context) (string, error) { return s.client.CreateSession(ctx) },
			func(ctx context.Context, id string) error {
				_, err := s.client.Send(ctx, id, "how are you?")
				return err
			})
	}
}

// rate creates sessions, runs turns in all of them at once, and returns turns a second.
func rate(ctx context.Context, sessions, turns int, create func(context.Context) (string, error), turn func(context.Context, string) error) ([]float64, error) {
	ids := make([]string, sessions)
	for i := range ids {
		var err error
		if ids[i], err = create(ctx); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	err := atOnce(sessions, func(i int) error {
		for range turns {
			if err := turn(ctx, ids[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return []float64{float64(sessions*turns) / time.Since(start).Seconds()}, err
}

// atOnce calls f with 0 to n-1, all at once.
func atOnce(n int, f func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, n) // each goroutine owns its element
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// measureDrops puts loads on a daemon whose journal must store every event, and counts the dropped
// events. Each load has a fresh daemon.
func measureDrops(ctx context.Context, e effort) ([]Series, error) {
	loads := []struct {
		name string
		load func(context.Context, *side) error
	}{
		{nameManySessions, func(ctx context.Context, s *side) error { return s.runSessions(ctx, 200, 10) }},
		{nameWatched, func(ctx context.Context, s *side) error { return s.runWatched(ctx, 4, 50, 30) }},
		{nameCreated, func(ctx context.Context, s *side) error { return s.createMany(ctx, 8, 4000) }},
	}
	var out []Series
	for _, l := range loads {
		got, err := withDaemons(ctx, e, oneScaffold, func(all []*side) ([]Series, error) {
			var series []Series
			for _, s := range all {
				if err := l.load(ctx, s); err != nil {
					return nil, err
				}
				n, err := s.client.Dropped(ctx)
				if err != nil {
					return nil, err
				}
				series = append(series, Series{Name: s.prefix + l.name, Rounds: [][]float64{{float64(n)}}})
			}
			return series, nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		out = append(out, got...)
	}
	return out, nil
}

// oneScaffold fills a home with one plugin that hooks three points of a turn.
func oneScaffold(_ context.Context, home string) error {
	return scaffoldHome(filepath.Join(home, "scaffold"), 1)
}

// runSessions creates sessions, and runs turns in all of them at once.
func (s *side) runSessions(ctx context.Context, sessions, messages int) error {
	return atOnce(sessions, func(int) error {
		id, err := s.client.CreateSession(ctx)
		if err != nil {
			return err
		}
		return s.sendMany(ctx, id, messages)
	})
}

// runWatched is runSessions with followers of all events. Then it creates one more session, and
// returns when every follower has seen that event. A daemon that drops events may drop this one
// too; then runWatched creates another session.
func (s *side) runWatched(ctx context.Context, followers, sessions, messages int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var marker atomic.Pointer[string] // the id of the first session that is created then
	watching := make(chan error, 1)
	go func() {
		watching <- atOnce(followers, func(int) error {
			from := uint64(0)
			return s.client.Follow(ctx, &from, func(e drive.Event) error {
				if first := marker.Load(); first != nil && e.Kind == "session.created" && createdID(e.Data) >= *first {
					return drive.ErrEnough
				}
				return nil
			})
		})
	}()
	if err := s.runSessions(ctx, sessions, messages); err != nil {
		return err
	}
	for {
		id, err := s.client.CreateSession(ctx)
		if err != nil {
			return err
		}
		marker.CompareAndSwap(nil, &id)
		select {
		case err := <-watching:
			return err
		case <-time.After(time.Second):
		}
	}
}

// createdID returns the id of a created session. Ids sort by time.
func createdID(data string) string {
	var s struct{ ID string }
	if json.Unmarshal([]byte(data), &s) != nil {
		return "" // it sorts before all ids
	}
	return s.ID
}

func (s *side) createMany(ctx context.Context, clients, sessions int) error {
	var made atomic.Int64
	return atOnce(clients, func(int) error {
		for made.Add(1) <= int64(sessions) {
			if _, err := s.client.CreateSession(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
