package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// The sections about growth: how a cost grows with the number of messages, sessions, keys, events
// or plugins.
const (
	sectionHistory  = "history"
	sectionResume   = "resume"
	sectionSynced   = "synced"
	sectionTurnLoad = "turn-load"
	sectionList     = "session-list"
	sectionStorage  = "storage-list"
	sectionTraces   = "traces"
	sectionKaged    = "kaged-many"
	sectionPayload  = "payload"
	sectionPayAlloc = "payload-allocs"
	sectionReplays  = "replays"
	sectionLost     = "replays-lost"
	sectionDrops    = "drops"
)

// growthSections lists the sections about growth. Most of them measure two daemons in turns, the
// current one and an older one, if --old names a program.
func growthSections() []section {
	return []section{
		{sectionHistory, "One message over HTTP, to a session with so many earlier messages", "ms", 0, nameHistory(10), measureHistory},
		{sectionResume, "`chat --resume ID -p TEXT`, a session with so many earlier messages: the whole process", "ms", 0, nameHistory(10), measureResume},
		{sectionSynced, "Synced writes of one message over HTTP, those of its events included", "syncs", 0, "", measureSynced},
		{sectionTurnLoad, "Turns a second by 50 sessions at once, no plugin", "turns/s", 0, "", measureTurnLoad},
		{sectionList, "The newest 50 sessions, over HTTP", "ms", 0, nameSessions(50), measureList},
		{sectionStorage, "A plugin lists its ten keys, over HTTP, while another plugin keeps so many", "ms", 0, nameForeign(0), measureStorageList},
		{sectionTraces, "The traces of one turn, the oldest, by its id, over HTTP", "ms", 0, nameEvents(manyEvents / 50), measureTraces},
		{sectionKaged, "One event at a point with so many kaged plugins, for each plugin", "µs", 0, nameKaged(1), measureKaged},
		{sectionPayload, "One event with so large a payload, through a plugin that watches", "µs", 0, namePayload(payloadEarly), measurePayload},
		{sectionPayAlloc, "What the host allocates for it, as a multiple of the payload", "×", 0, "", measurePayloadAllocs},
		{sectionReplays, "A follower reads 1,000 events again, over HTTP", "ms", 0, "", measureReplays},
		{sectionLost, "Events that such followers did not get, in 2,000 replays (400 where quick)", "events", 0, "", measureLost},
		{sectionAppends, "Records of 300 bytes that the engine takes, each synced to disk", "records/s", 0, "", measureAppends},
		{sectionBytes, "What is written, in bytes", "bytes", 0, "", measureBytes},
		{sectionMemory, "Memory of a daemon that is at rest, for each", "kB", 0, "", measureMemory},
		{sectionDrops, "Events that the journal dropped", "events", 0, "", measureDrops},
	}
}

// oldPrefix starts the names of the older daemon's series.
const oldPrefix = "old: "

// growthBars lists the promises about growth. Only the current program is compared with them, never
// the older one.
func growthBars() []Bar {
	return []Bar{
		{What: "turn after 5,000 messages, of one after 10", Section: sectionHistory, Of: nameHistory(5000), Over: nameHistory(10), Limit: 1.5},
		{What: "chat --resume after 5,000 messages, of one after 10", Section: sectionResume, Of: nameHistory(5000), Over: nameHistory(10), Limit: 1.5},
		{What: "synced writes a turn, 50 sessions at once", Section: sectionSynced, Of: nameSyncedMany, Limit: 5},
		{What: "turns a second, 50 sessions", Section: sectionTurnLoad, Of: nameInProcess, Limit: 900, AtLeast: true},
		{What: "newest 50 of 5,000 sessions, ms", Section: sectionList, Of: nameSessions(5000), Limit: 5},
		{What: "newest 50 of 5,000 sessions, of 50", Section: sectionList, Of: nameSessions(5000), Over: nameSessions(50), Limit: 1.5},
		{What: "storage list beside 10,000 foreign keys, of none", Section: sectionStorage, Of: nameForeign(10_000), Over: nameForeign(0), Limit: 5}, // the server walks its index, and reads no key of another plugin
		{What: "traces of a turn at 50,000 events, ms", Section: sectionTraces, Of: nameEvents(manyEvents), Limit: 20},
		{What: "64 kaged plugins, cost of each, of a bare pipe among 64", Section: sectionKaged, Of: nameKaged(64), Over: nameBareEach(64), Limit: 4},
		{What: "256 KiB through a watching plugin, of 64 KiB", Section: sectionPayload, Of: namePayload(payloadLate), Over: namePayload(payloadEarly), Limit: 4.4},
		{What: "allocated for 256 KiB, of the payload", Section: sectionPayAlloc, Of: namePayload(payloadLate), Limit: 3},
		{What: "events lost in replays", Section: sectionLost, Of: nameReplay, Limit: 0},
		{What: "events dropped, 200 sessions × 10 messages", Section: sectionDrops, Of: nameManySessions, Limit: 0},
		{What: "events dropped, 50 × 30 with 4 followers", Section: sectionDrops, Of: nameWatched, Limit: 0},
		{What: "events dropped, 4,000 sessions by 8 clients", Section: sectionDrops, Of: nameCreated, Limit: 0},
	}
}

// A side is one of the daemons that are compared: the program at hand, or an older one.
type side struct {
	prefix  string // of its series' names
	program string
	home    string
	daemon  *drive.Daemon // nil: not started
	client  *drive.Client
	seen    uint64 // the last event that awaitEvents has followed
	ended   int    // how many turns awaitEvents has seen end
}

// sides returns the programs that take part.
func (e effort) sides() ([]*side, error) {
	if _, err := os.Stat(e.program); err != nil {
		return nil, fmt.Errorf("%w: %w: name the program with --program, or run `make bench`, which builds it", errSkip, err)
	}
	all := []*side{{program: e.program}}
	if e.old != "" {
		all = append(all, &side{prefix: oldPrefix, program: e.old})
	}
	return all, nil
}

// A homeFiller fills a home for a section, before any daemon runs.
type homeFiller func(ctx context.Context, home string) error

// withHomes gives every side a home filled with fill, calls measure, and removes the homes.
func withHomes(ctx context.Context, e effort, fill homeFiller, measure func([]*side) ([]Series, error)) (out []Series, err error) {
	all, err := e.sides()
	if errors.Is(err, errSkip) {
		return []Series{{Name: "daemon", Skip: err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-growth-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	first := filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(first, "patchbay"), 0o700); err != nil {
		return nil, err
	}
	if err := fill(ctx, first); err != nil {
		return nil, err
	}
	for i, s := range all {
		s.home = filepath.Join(dir, fmt.Sprint("side", i))
		if text, err := exec.CommandContext(ctx, "cp", "-a", first, s.home).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cp: %w: %.300s", err, text)
		}
	}
	return measure(all)
}

// withDaemons is withHomes with a daemon on each home.
func withDaemons(ctx context.Context, e effort, fill homeFiller, measure func([]*side) ([]Series, error)) ([]Series, error) {
	return withHomes(ctx, e, fill, func(all []*side) (out []Series, err error) {
		for _, s := range all {
			if err := s.start(ctx); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, s.stop()) }()
		}
		return measure(all)
	})
}

func (s *side) start(ctx context.Context) (err error) {
	if s.daemon, err = drive.Start(ctx, s.program, s.home); err != nil {
		return fmt.Errorf("%s%w", s.prefix, err)
	}
	s.client = drive.NewClient(s.daemon.URL)
	return nil
}

func (s *side) stop() error {
	if s.daemon == nil {
		return nil
	}
	s.client.Close()
	err := s.daemon.Stop()
	s.daemon = nil
	return err
}

// emptyHome writes nothing.
func emptyHome(context.Context, string) error { return nil }

// timedCalls returns a turn that makes n calls and times each, in milliseconds.
func timedCalls(n int, call func(context.Context) error) turn {
	return func(ctx context.Context) ([]float64, error) {
		samples := make([]float64, n)
		for i := range samples {
			took, err := stopwatch(func() error { return call(ctx) })
			if err != nil {
				return nil, err
			}
			samples[i] = millis(took)
		}
		return samples, nil
	}
}
