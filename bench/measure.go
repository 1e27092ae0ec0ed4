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

// roundRobin lets the entrants take turns for so many rounds, so that whatever else the machine
// does hits all of them alike. Each round begins with another entrant, so that none always follows
// the same neighbour. One turn each goes unmeasured before, as warm-up.
func roundRobin(ctx context.Context, rounds int, entrants []entrant) ([]Series, error) {
	series := make([]Series, len(entrants))
	for i, e := range entrants {
		series[i].Name = e.name
	}
	for round := range rounds + 1 {
		for i := range entrants {
			at := (i + round) % len(entrants)
			// One entrant's garbage must not be collected on another's time.
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

// settle is how many calls of a turn go unmeasured: the turn of another contestant has cooled the
// caches, which no host that calls one plugin in a row would see. Small calls have longer turns
// than others, and more of this: on one core they have two speeds, by whether the scheduler lets
// the plugin run in the middle of the host's write, and it stays with one of them for dozens of
// calls.
const (
	settle      = 5
	settleSmall = 50
)

// timed is the turn that makes n calls after so many unmeasured ones, one after another, and times
// each, in microseconds.
func timed(c Contestant, payload []byte, settle, n int) turn {
	return func(ctx context.Context) ([]float64, error) {
		for range settle {
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

// throughput is the turn in which callers goroutines make each so many calls at once; its one
// sample is in calls per second.
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

// mallocs is the turn that counts the host's heap allocations over n calls; its one sample is per
// call.
func mallocs(c Contestant, payload []byte, n int) turn {
	return func(ctx context.Context) ([]float64, error) {
		var before, after runtime.MemStats
		for range settle { // buffers and pools the collector emptied are filled again
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

// each opens the contestants, makes each an entrant, runs them all and closes them. Those that
// cannot take part are in the result with the reason.
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

// micros is d in microseconds.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// millis is d in milliseconds.
func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// stopwatch is how long f takes.
func stopwatch(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}
