package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
	"github.com/patchbay-dev/patchbay/internal/engine"
)

// historySizes returns the numbers of earlier messages that are compared.
func historySizes() []int { return []int{10, 100, 1000, 5000} }

func nameHistory(n int) string { return "after " + thousands(int64(n)) + " messages" }

// Each size is measured in historyRounds rounds of historyTurns turns. A session with at most
// fewMessages is used for only one round, because it would soon have many more.
const (
	historyRounds = 10
	historyTurns  = 3
	fewMessages   = 100
)

// seeded returns the id of the session with n earlier messages for a round. Round 0 is the warm-up.
func seeded(n, round int) string {
	if n > fewMessages {
		round = 0
	}
	return fmt.Sprintf("ses_bench%d0%d", n, round)
}

// seedHistories writes the sessions into the engine of a home, in the form that every version has
// written: the start of a turn, its messages, and its end.
func seedHistories(ctx context.Context, home string) error {
	return withEngine(ctx, home, func(e *engine.Engine) error {
		for _, n := range historySizes() {
			rounds := historyRounds
			if n > fewMessages {
				rounds = 0
			}
			for round := range rounds + 1 {
				if err := seedSession(ctx, e, home, seeded(n, round), n); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// withEngine opens the engine of a home on which no daemon runs.
func withEngine(ctx context.Context, home string, use func(*engine.Engine) error) error {
	e, err := engine.Open(ctx, engine.Options{Dir: filepath.Join(home, "patchbay", "data", "engine")})
	if err != nil {
		return err
	}
	return errors.Join(use(e), e.Close())
}

func seedSession(ctx context.Context, e *engine.Engine, home, id string, messages int) error {
	if err := seedRecord(ctx, e, home, id, time.Now()); err != nil {
		return err
	}
	stream, err := e.Stream(ctx, engine.StreamConfig{Name: "transcripts"})
	if err != nil {
		return err
	}
	add := func(part map[string]any) error {
		part["turn"], part["time"] = "turn_seeded", time.Now().UTC()
		text, err := json.Marshal(part)
		if err != nil {
			return err
		}
		_, err = stream.Append(ctx, engine.Append{Topic: id, Data: text, ID: ""})
		return err
	}
	if err := add(map[string]any{"status": "began"}); err != nil {
		return err
	}
	roles := []string{"user", "assistant"}
	for i := range messages {
		// The messages are short, so that no conversation is compacted.
		if err := add(map[string]any{"message": map[string]string{"role": roles[i%2], "content": fmt.Sprint("message ", i)}}); err != nil {
			return err
		}
	}
	return add(map[string]any{"status": "done"})
}

// seedRecord writes the record of a session.
func seedRecord(ctx context.Context, e *engine.Engine, home, id string, created time.Time) error {
	bucket, err := e.Bucket(ctx, engine.BucketConfig{Name: "sessions"})
	if err != nil {
		return err
	}
	record, err := json.Marshal(map[string]any{"id": id, "plugins": []string{}, "working_dir": home, "created_at": created.UTC(), "title": "seeded"})
	if err != nil {
		return err
	}
	_, err = bucket.Create(ctx, id, record)
	return err
}

// measureHistory times messages to sessions of all sizes, in turns.
func measureHistory(ctx context.Context, e effort) ([]Series, error) {
	return withDaemons(ctx, e, seedHistories, func(all []*side) ([]Series, error) {
		var entrants []entrant
		for _, s := range all {
			for _, n := range historySizes() {
				entrants = append(entrants, entrant{s.prefix + nameHistory(n), historyTurn(s, n)})
			}
		}
		return roundRobin(ctx, e.of(historyRounds), entrants)
	})
}

func historyTurn(s *side, n int) turn {
	round := -1
	return func(ctx context.Context) ([]float64, error) {
		round++
		id := seeded(n, round)
		return timedCalls(historyTurns, func(ctx context.Context) error {
			_, err := s.client.Send(ctx, id, "and now?")
			return err
		})(ctx)
	}
}

// measureResume times whole processes that resume a session. No daemon runs, so each opens the
// engine itself.
func measureResume(ctx context.Context, e effort) ([]Series, error) {
	return withHomes(ctx, e, seedHistories, func(all []*side) ([]Series, error) {
		var entrants []entrant
		for _, s := range all {
			for _, n := range historySizes() {
				entrants = append(entrants, entrant{s.prefix + nameHistory(n), resumeTurn(s, n)})
			}
		}
		return roundRobin(ctx, e.of(historyRounds), entrants)
	})
}

func resumeTurn(s *side, n int) turn {
	round := -1
	return func(ctx context.Context) ([]float64, error) {
		round++
		cmd := exec.CommandContext(ctx, s.program, "chat", "--resume="+seeded(n, round), "-p", "and now?", "--json")
		cmd.Env, cmd.Dir = drive.Environ(s.home), s.home
		start := time.Now()
		text, err := cmd.Output()
		took := time.Since(start)
		if err != nil {
			return nil, fmt.Errorf("chat --resume: %w: %.300s", err, text)
		}
		return []float64{millis(took)}, nil
	}
}
