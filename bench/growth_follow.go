package main

import (
	"context"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// nameReplay is the series of replays of a thousand events each.
const nameReplay = "all replays"

const (
	replayEvents = 1000
	replayTurns  = 20 // replays in one turn
)

// measureReplays times followers that read the first thousand events again.
func measureReplays(ctx context.Context, e effort) ([]Series, error) {
	return replays(ctx, e, e.of(20), func(took time.Duration, _ int) float64 { return millis(took) })
}

// measureLost counts the events that followers did not get, in five times as many replays. It shows
// the sum, because a median would hide rare losses.
func measureLost(ctx context.Context, e effort) ([]Series, error) {
	series, err := replays(ctx, e, e.of(100), func(_ time.Duration, lost int) float64 { return float64(lost) })
	for i := range series {
		total := 0.0
		for _, lost := range series[i].samples() {
			total += lost
		}
		series[i].Rounds = [][]float64{{total}}
	}
	return series, err
}

func replays(ctx context.Context, e effort, rounds int, value func(took time.Duration, lost int) float64) ([]Series, error) {
	return withDaemons(ctx, e, oneScaffold, func(all []*side) ([]Series, error) {
		var entrants []entrant
		for _, s := range all {
			if _, err := s.growJournal(ctx, replayEvents); err != nil {
				return nil, err
			}
			entrants = append(entrants, entrant{s.prefix + nameReplay, func(ctx context.Context) ([]float64, error) {
				var samples []float64
				for range replayTurns {
					took, lost, err := s.replay(ctx)
					if err != nil {
						return nil, err
					}
					samples = append(samples, value(took, lost))
				}
				return samples, nil
			}})
		}
		return roundRobin(ctx, rounds, entrants)
	})
}

// replay reads the first thousand events, and returns how many of them were missing. If the stream
// stalls, the rest counts as missing.
func (s *side) replay(ctx context.Context) (time.Duration, int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	start, from, next, lost := time.Now(), uint64(0), uint64(1), 0
	err := s.client.Follow(ctx, &from, func(e drive.Event) error {
		if e.ID < next {
			return fmt.Errorf("event %d comes after %d", e.ID, next-1)
		}
		lost += int(e.ID - next)
		next = e.ID + 1
		if e.ID >= replayEvents {
			return drive.ErrEnough
		}
		return nil
	})
	if ctx.Err() != nil {
		return time.Since(start), lost + replayEvents - int(next) + 1, nil
	}
	return time.Since(start), lost, err
}
