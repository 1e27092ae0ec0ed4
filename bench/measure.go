package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// entrant is one contestant's part in a section.
type entrant struct {
	name string
	turn turn
}

// turn does a small amount of work and returns its samples.
type turn func(ctx context.Context) ([]float64, error)

// roundRobin lets the entrants take turns for so many rounds, so that other load on the machine
// slows all of them alike. Each round begins with another entrant, so that none is always the
// first. One turn of each entrant before the first round is the warm-up, and is not measured.
func roundRobin(ctx context.Context, rounds int, entrants []entrant) ([]Series, error) {
	series := make([]Series, len(entrants))
	for i, e := range entrants {
		series[i].Name = e.name
	}
	for round := range rounds + 1 {
		for i := range entrants {
			at := (i + round) % len(entrants)
			// The garbage of one entrant must not be collected during the turn of another.
			runtime.GC()
			samples, err := entrants[at].turn(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", entrants[at].name, err)
			}
			if round > 0 {
				series[at].Rounds = append(series[at].Rounds, samples)
			}
		}
	}
	return series, nil
}

// warmUp is how many calls at the start of a turn are not measured: the turn of another contestant
// has emptied the caches, which does not happen in a host that calls one plugin repeatedly. Small
// calls need more (warmUpSmall). On one core they have two speeds: the scheduler lets the plugin
// run in the middle of the host's write or after it, and keeps to one of the two for dozens of
// calls.
const (
	warmUp      = 5
	warmUpSmall = 50
)

// timed returns a turn that makes warmUp unmeasured calls and then n calls, one after another, and
// times each of the n in microseconds.
func timed(c Contestant, payload []byte, warmUp, n int) turn {
	return func(ctx context.Context) ([]float64, error) {
		for range warmUp {
			if err := c.Call(ctx, payload); err != nil {
				return nil, err
			}
		}
		samples := make([]float64, n)
		for i := range samples {
			start := time.Now()
			if err := c.Call(ctx, payload); err != nil {
				return nil, err
			}
			samples[i] = micros(time.Since(start))
		}
		return samples, nil
	}
}

// throughput returns a turn in which several goroutines make calls at once, each the same number.
// Its only sample is in calls per second.
func throughput(c Contestant, payload []byte, callers, each int) turn {
	return func(ctx context.Context) ([]float64, error) {
		var all sync.WaitGroup
		errs := make([]error, callers) // each goroutine owns its element
		start := time.Now()
		for i := range callers {
			all.Go(func() {
				for range each {
					if errs[i] = c.Call(ctx, payload); errs[i] != nil {
						return
					}
				}
			})
		}
		all.Wait()
		perSecond := float64(callers*each) / time.Since(start).Seconds()
		return []float64{perSecond}, errors.Join(errs...)
	}
}

// mallocs returns a turn that counts the host's heap allocations in n calls. Its only sample is
// allocations per call.
func mallocs(c Contestant, payload []byte, n int) turn {
	return func(ctx context.Context) ([]float64, error) {
		var before, after runtime.MemStats
		for range warmUp { // fills the buffers and pools that the collector emptied
			if err := c.Call(ctx, payload); err != nil {
				return nil, err
			}
		}
		runtime.ReadMemStats(&before)
		for range n {
			if err := c.Call(ctx, payload); err != nil {
				return nil, err
			}
		}
		runtime.ReadMemStats(&after)
		return []float64{float64(after.Mallocs-before.Mallocs) / float64(n)}, nil
	}
}

// each opens the contestants, runs them in turns and closes them. Those that cannot take part are
// in the result with the reason.
func each(ctx context.Context, rounds int, cs []Contestant, turnOf func(Contestant) turn) (out []Series, err error) {
	var entrants []entrant
	var absent []Series
	for _, c := range cs {
		oerr := c.Open(ctx)
		defer func() {
			if cerr := c.Close(); cerr != nil && err == nil {
				err = fmt.Errorf("close %s: %w", c.Name(), cerr)
			}
		}()
		switch {
		case errors.Is(oerr, errSkip):
			absent = append(absent, Series{Name: c.Name(), Skip: oerr.Error()})
		case oerr != nil:
			return nil, fmt.Errorf("open %s: %w", c.Name(), oerr)
		default:
			entrants = append(entrants, entrant{c.Name(), turnOf(c)})
		}
	}
	series, err := roundRobin(ctx, rounds, entrants)
	return append(series, absent...), err
}

// micros returns d in microseconds.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// millis returns d in milliseconds.
func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// stopwatch returns how long f takes.
func stopwatch(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}
