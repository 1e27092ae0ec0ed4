package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// Names of the series of the section about a daemon with nothing to do.
const (
	nameResident  = "resident, MB"
	nameAnonymous = "anonymous, MB"
	nameProcessor = "of a processor, %"
)

// The daemon's memory is measured a minute after it is ready, when the garbage of its start is
// collected. Its processor time is measured in the minute after that.
const (
	idleTime      = time.Minute
	idleTimeQuick = 20 * time.Second
)

// measureIdle measures a daemon with 16 plugins that gets no requests.
func measureIdle(ctx context.Context, e effort) ([]Series, error) {
	pause := idleTime
	if e.quick {
		pause = idleTimeQuick
	}
	many := func(_ context.Context, home string) error {
		return scaffoldHome(filepath.Join(home, "scaffold"), startedPlugins)
	}
	return withDaemons(ctx, e, many, func(all []*side) (out []Series, err error) {
		time.Sleep(pause)
		used := make([]float64, len(all))
		for i, s := range all {
			if used[i], err = drive.Processor(s.daemon.PID()); err != nil {
				return nil, err
			}
		}
		time.Sleep(pause)
		for i, s := range all {
			now, err := drive.Processor(s.daemon.PID())
			if err != nil {
				return nil, err
			}
			memory, err := drive.Memory(s.daemon.PID())
			if err != nil {
				return nil, err
			}
			out = append(out,
				singleValue(s.prefix+nameResident, memory.RSS), singleValue(s.prefix+nameAnonymous, memory.Anonymous),
				singleValue(s.prefix+nameProcessor, 100*(now-used[i])/pause.Seconds()))
		}
		return out, nil
	})
}

// singleValue returns a series with a single number.
func singleValue(name string, value float64) Series {
	return Series{Name: name, Rounds: [][]float64{{value}}}
}
