package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/session"
)

const (
	turnPlugins = 16   // each hooks three points of a turn: 48 calls
	manyTurns   = 1000 //
	perSession  = 50   // after so many turns the next session begins
)

// The series of the sections about turns.
const (
	nameTurn        = "a turn"
	nameTurnInside  = "of which in plugins"
	nameTurnOutside = "of which outside plugins"
	nameHeapEarly   = "after 250 turns and a pause"
	nameHeapLate    = "after 1,000 turns and a pause"
	nameHeapBusy    = "after 1,000 turns, no pause"
)

// A turnRig is everything that `patchbay serve` runs, without its listeners.
type turnRig struct {
	dir     string
	core    *daemon.Core
	session string
	started int // how many turns were started
}

func openTurnRig(ctx context.Context) (*turnRig, error) {
	dir, err := os.MkdirTemp("", "bench-turns-")
	if err != nil {
		return nil, err
	}
	a := &turnRig{dir: dir}
	if err := scaffoldHome(filepath.Join(dir, "scaffold"), turnPlugins); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if a.core, err = daemon.Open(ctx, daemon.Options{Host: pluginhost.Options{Environ: isolatedEnviron(dir), Dir: dir}}); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if err := allReady(a.core.Host.Plugins(), turnPlugins); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *turnRig) close() error {
	var err error
	if a.core != nil {
		err = a.core.Close()
	}
	return errors.Join(err, os.RemoveAll(a.dir))
}

// turn runs one turn, and returns how long it took and how much of that was spent in plugins.
func (a *turnRig) turn(ctx context.Context) (whole, inside time.Duration, err error) {
	if a.started%perSession == 0 {
		s, err := a.core.Sessions.Create(ctx, session.Session{WorkingDir: a.dir})
		if err != nil {
			return 0, 0, err
		}
		a.session = s.ID
	}
	a.started++
	watch := func(e chat.Event) {
		if e.Type == chat.Point {
			for i := range e.Outcome.Steps { // at these points plugins are called one after another
				inside += e.Outcome.Steps[i].Duration
			}
		}
	}
	start := time.Now()
	result, err := a.core.Turn(ctx, daemon.TurnRequest{Session: a.session, Text: "how are you?", Observe: watch})
	whole = time.Since(start)
	if err == nil && result.Status != session.Done {
		err = fmt.Errorf("a turn ended as %s", result.Status)
	}
	return whole, inside, err
}

// measureTurns times turns, and the part of each that was spent in plugins.
func measureTurns(ctx context.Context, e effort) ([]Series, error) {
	a, err := openTurnRig(ctx)
	if err != nil {
		return nil, err
	}
	whole, in, out := Series{Name: nameTurn}, Series{Name: nameTurnInside}, Series{Name: nameTurnOutside}
	for range e.of(20) {
		var w, i, o []float64
		for range manyTurns / 20 {
			took, inside, err := a.turn(ctx)
			if err != nil {
				return nil, errors.Join(err, a.close())
			}
			w, i, o = append(w, millis(took)), append(i, millis(inside)), append(o, millis(took-inside))
		}
		whole.Rounds, in.Rounds, out.Rounds = append(whole.Rounds, w), append(in.Rounds, i), append(out.Rounds, o)
	}
	return []Series{whole, in, out}, a.close()
}

// measureTurnRate counts turns a second, one after another.
func measureTurnRate(ctx context.Context, e effort) ([]Series, error) {
	a, err := openTurnRig(ctx)
	if err != nil {
		return nil, err
	}
	rate := Series{Name: nameTurn}
	for range e.of(20) {
		start := time.Now()
		for range manyTurns / 20 {
			if _, _, err := a.turn(ctx); err != nil {
				return nil, errors.Join(err, a.close())
			}
		}
		rate.Rounds = append(rate.Rounds, []float64{manyTurns / 20 / time.Since(start).Seconds()})
	}
	return []Series{rate}, a.close()
}

// cachesExpire is longer than the engine caches what it has written: the last block of each stream
// for ten seconds, up to 8 MB, and the ids of messages for a minute.
const cachesExpire = 65 * time.Second

// measureTurnHeap measures the live heap after a quarter of the turns, when everything is warm, and
// after all of them. Before each measurement it pauses until the engine's caches have expired. One
// more measurement is made without the pause.
func measureTurnHeap(ctx context.Context, _ effort) ([]Series, error) {
	a, err := openTurnRig(ctx)
	if err != nil {
		return nil, err
	}
	early, late, busy := Series{Name: nameHeapEarly}, Series{Name: nameHeapLate}, Series{Name: nameHeapBusy}
	for n := 1; n <= manyTurns; n++ {
		if _, _, err := a.turn(ctx); err != nil {
			return nil, errors.Join(err, a.close())
		}
		switch n {
		case manyTurns / 4:
			time.Sleep(cachesExpire)
			early.Rounds = [][]float64{{liveHeap(), liveHeap(), liveHeap()}}
		case manyTurns:
			busy.Rounds = [][]float64{{liveHeap(), liveHeap(), liveHeap()}}
			time.Sleep(cachesExpire)
			late.Rounds = [][]float64{{liveHeap(), liveHeap(), liveHeap()}}
		}
	}
	return []Series{early, late, busy}, a.close()
}

// liveHeap returns the memory that is in use after a collection, in megabytes.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // collects what finalizers have released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}
