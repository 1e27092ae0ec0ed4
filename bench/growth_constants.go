package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
	"github.com/patchbay-dev/patchbay/internal/engine"
)

// The series of the sections about constants, with which docs/capacity.md calculates.
const (
	sectionAppends = "appends"
	sectionBytes   = "bytes"
	sectionMemory  = "memory"

	nameAlone1   = "one after another"
	nameCrowd50  = "50 writers at once"
	nameTogether = "256 together"

	nameMessageBytes = "a message and its answer, in the transcript, on disk"
	nameEventBytes   = "an event, on disk"
	nameTraceBytes   = "a trace: the event of a point with one plugin, its data"
	nameTurnBytes    = "a turn with one plugin, all files of the store"

	nameMemSession  = "a session that was used, idle"
	nameMemFollower = "a follower"
	nameMemPlugin   = "a plugin, in the daemon"
	nameMemProcess  = "a plugin, its own process (Go)"
)

// measureAppends counts records of 300 bytes that an engine takes in a second, each of them synced
// to disk.
func measureAppends(ctx context.Context, e effort) (out []Series, err error) {
	dir, err := os.MkdirTemp("", "bench-appends-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := engine.Open(ctx, engine.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	stream, err := store.Stream(ctx, engine.StreamConfig{Name: "bench", Together: true})
	if err != nil {
		return nil, err
	}
	record := engine.Append{Topic: "t", Data: payloadOf(smallCall)}
	alone := func(ctx context.Context) error { _, err := stream.Append(ctx, record); return err }
	return roundRobin(ctx, e.of(10), []entrant{
		{nameAlone1, perSecond(200, 1, func(ctx context.Context) error { return repeat(ctx, 200, alone) })},
		{nameCrowd50, perSecond(500, 1, func(ctx context.Context) error {
			return atOnce(50, func(int) error { return repeat(ctx, 10, alone) })
		})},
		{nameTogether, perSecond(256, 10, func(ctx context.Context) error {
			records := make([]engine.Append, 256)
			for i := range records {
				records[i] = record
				records[i].ID = rand.Text()
			}
			return stream.AppendAll(ctx, records)
		})},
	})
}

func repeat(ctx context.Context, n int, f func(context.Context) error) error {
	for range n {
		if err := f(ctx); err != nil {
			return err
		}
	}
	return nil
}

// perSecond returns a turn that calls f a number of times. Each call does a number of units of
// work. The only sample is units a second.
func perSecond(units, times int, f func(context.Context) error) turn {
	return func(ctx context.Context) ([]float64, error) {
		took, err := stopwatch(func() error { return repeat(ctx, times, f) })
		return []float64{float64(units*times) / took.Seconds()}, err
	}
}

// measureBytes sends short messages, which the offline model answers with 280 bytes, and measures
// how much disk space they take.
func measureBytes(ctx context.Context, e effort) ([]Series, error) {
	return withDaemons(ctx, effort{quick: e.quick, program: e.program}, oneScaffold, func(all []*side) ([]Series, error) {
		const sessions, messages = 10, 20
		s := all[0]
		if err := s.runSessions(ctx, sessions, messages); err != nil {
			return nil, err
		}
		if err := s.awaitEvents(ctx); err != nil {
			return nil, err
		}
		last, traces, size, err := s.events(ctx)
		if err != nil {
			return nil, err
		}
		store := filepath.Join(s.home, "patchbay", "data", "engine", "jetstream")
		transcripts, err1 := fileBytes(store, "patchbay_stream_transcripts")
		events, err2 := fileBytes(store, "patchbay_stream_events")
		whole, err3 := fileBytes(store, "")
		const turns = sessions * messages
		one := func(name string, v float64) Series { return Series{Name: name, Rounds: [][]float64{{v}}} }
		return []Series{
			one(nameMessageBytes, transcripts/turns), one(nameEventBytes, events/float64(last)),
			one(nameTraceBytes, float64(size)/float64(traces)), one(nameTurnBytes, whole/turns),
		}, errors.Join(err1, err2, err3)
	})
}

// events reads all events. It returns the last id, the number of traces, and the total size of
// their data.
func (s *side) events(ctx context.Context) (last uint64, traces, size int, err error) {
	id, err := s.client.CreateSession(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	from := uint64(0)
	err = s.client.Follow(ctx, &from, func(e drive.Event) error {
		last = e.ID
		if e.Kind == "point" {
			traces++
			size += len(e.Data)
		}
		if e.Kind == "session.created" && createdID(e.Data) == id {
			return drive.ErrEnough
		}
		return nil
	})
	return last, traces, size, err
}

// fileBytes returns the size of the blocks of messages of one stream, or of all.
func fileBytes(store, stream string) (total float64, err error) {
	if stream == "" {
		stream = "*"
	}
	blocks, err := filepath.Glob(filepath.Join(store, "*", "streams", stream, "msgs", "*.blk"))
	if err == nil && len(blocks) == 0 {
		err = fmt.Errorf("%s has no blocks of %s", store, stream)
	}
	for _, path := range blocks {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		total += float64(info.Size())
	}
	return total, err
}

// measureMemory measures the live memory of a daemon before and after adding sessions, followers or
// plugins, and divides the difference by their number.
func measureMemory(ctx context.Context, e effort) ([]Series, error) {
	const sessions, followers = 2000, 200
	out, err := withDaemons(ctx, effort{program: e.program}, oneScaffold, func(all []*side) ([]Series, error) {
		s := all[0]
		empty, err1 := s.atRest(ctx, 0)
		err2 := atOnce(8, func(int) error { return s.createSessions(ctx, sessions/8) })
		used, err3 := s.atRest(ctx, cachesExpire)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		undo, err := s.followMany(ctx, followers)
		if err != nil {
			return nil, err
		}
		defer undo()
		followed, err := s.atRest(ctx, cachesExpire)
		return []Series{kilobytes(nameMemSession, (used-empty)/sessions), kilobytes(nameMemFollower, (followed-used)/followers)}, err
	})
	if err != nil {
		return nil, err
	}
	plugins, err := measurePluginMemory(ctx, e)
	return append(out, plugins...), err
}

func kilobytes(name string, megabytes float64) Series {
	return Series{Name: name, Rounds: [][]float64{{megabytes * 1000}}}
}

// collectTime is how long atRest asks the daemon for its metrics, so that it collects its garbage.
const collectTime = 10 * time.Second

// atRest returns the live heap of the daemon and the stacks of its goroutines, in megabytes, after
// a pause. Each request for the metrics makes garbage, so the daemon collects it now and then; the
// least value is that of the moment after a collection.
func (s *side) atRest(ctx context.Context, pause time.Duration) (least float64, err error) {
	time.Sleep(pause)
	for end := time.Now().Add(collectTime); time.Now().Before(end); {
		counters, err := s.client.Metrics(ctx)
		if err != nil {
			return 0, err
		}
		live := (counters["go_memstats_heap_alloc_bytes"] + counters["go_memstats_stack_inuse_bytes"]) / 1e6
		if least == 0 || live < least {
			least = live
		}
	}
	return least, nil
}

// createSessions creates sessions with one turn each, one after another.
func (s *side) createSessions(ctx context.Context, sessions int) error {
	for range sessions {
		id, err := s.client.CreateSession(ctx)
		if err != nil {
			return err
		}
		if err := s.sendMany(ctx, id, 1); err != nil {
			return err
		}
	}
	return nil
}

// followMany opens n followers of all events, and returns when each has seen an event.
func (s *side) followMany(ctx context.Context, n int) (undo func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	ready := make(chan struct{}, n)
	for range n {
		go func() {
			from, seen := uint64(0), false
			_ = s.client.Follow(ctx, &from, func(drive.Event) error { // it ends with ctx
				if !seen {
					seen = true
					ready <- struct{}{}
				}
				return nil
			})
		}()
	}
	for range n {
		select {
		case <-ready:
		case <-time.After(time.Minute):
			cancel()
			return nil, errors.New("not every follower got an event within a minute")
		}
	}
	return cancel, nil
}

// measurePluginMemory compares a daemon with one plugin and a daemon with sixteen, and measures the
// plugins' own processes.
func measurePluginMemory(ctx context.Context, e effort) ([]Series, error) {
	var rest [2]float64
	var process float64
	for i, n := range []int{1, 16} {
		many := func(_ context.Context, home string) error { return scaffoldHome(filepath.Join(home, "scaffold"), n) }
		_, err := withDaemons(ctx, effort{program: e.program}, many, func(all []*side) (_ []Series, err error) {
			if rest[i], err = all[0].atRest(ctx, 0); err != nil {
				return nil, err
			}
			children, err := drive.Children(all[0].daemon.PID())
			if err != nil {
				return nil, err
			}
			for _, pid := range children {
				if m, err := drive.Memory(pid); err == nil { // the process may have just ended
					process = max(process, m.Anonymous)
				}
			}
			return nil, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return []Series{kilobytes(nameMemPlugin, (rest[1]-rest[0])/15), kilobytes(nameMemProcess, process)}, nil
}
