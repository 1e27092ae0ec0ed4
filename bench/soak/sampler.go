package main

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// A reading is what the daemon used at one moment, with the disk space.
type reading struct {
	drive.Sample
	Disk float64 `json:"disk_mb"`
}

// A sampler takes readings of the daemon at regular intervals.
type sampler struct {
	daemon *drive.Daemon
	ledger *ledger
	every  time.Duration

	mu   sync.Mutex // protects list
	list []reading
}

func (s *sampler) sample(ctx context.Context) {
	for ctx.Err() == nil {
		if r, err := s.read(context.WithoutCancel(ctx)); err != nil {
			s.ledger.fault("no sample", "%v", err)
		} else {
			s.mu.Lock()
			s.list = append(s.list, r)
			s.mu.Unlock()
		}
		pause(ctx, s.every)
	}
}

func (s *sampler) read(ctx context.Context) (r reading, err error) {
	if r.Sample, err = s.daemon.Sample(ctx); err != nil {
		return r, err
	}
	r.Disk, err = drive.DiskUse(filepath.Join(s.daemon.Home, "patchbay"))
	return r, err
}

func (s *sampler) readings() []reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

func (s *sampler) latest() reading {
	list := s.readings()
	if len(list) == 0 {
		return reading{}
	}
	return list[len(list)-1]
}

// quarter returns the median of one quantity in quarter q of the time, counted from 0.
func quarter(list []reading, q int, of func(reading) float64) float64 {
	var values []float64
	for _, r := range list[len(list)*q/4 : len(list)*(q+1)/4] {
		values = append(values, of(r))
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}
