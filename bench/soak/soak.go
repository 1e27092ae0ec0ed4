package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// mostSamples is about how many readings are taken.
const mostSamples = 720

// A soak is one run.
type soak struct {
	options
	ledger   *ledger
	daemon   *drive.Daemon
	client   *drive.Client
	watchers []*watcher
	sampler  *sampler
	began    time.Time
	loaded   time.Duration // how long the load went on
	stop     context.CancelFunc
}

func newSoak(o options) *soak {
	s := &soak{options: o}
	s.ledger = newLedger(func() { s.stop() })
	return s
}

// run starts the daemon, puts it under load, checks it and stops it.
func (s *soak) run(ctx context.Context) (Report, error) {
	home, err := furnish()
	if err != nil {
		return Report{}, err
	}
	fmt.Fprintf(os.Stderr, "soak: %v, %d sessions, %d followers, home %s\n", s.length, s.sessions, s.options.watchers, home)
	if s.daemon, err = drive.Start(ctx, s.program, home); err != nil {
		return Report{}, err
	}
	s.client = drive.NewClient(s.daemon.URL)
	if err := s.prepare(ctx); err != nil {
		return Report{}, errors.Join(err, s.daemon.Stop())
	}
	following, endFollowing := context.WithCancel(context.WithoutCancel(ctx))
	var followers sync.WaitGroup
	s.follow(following, &followers)
	s.load(ctx)
	report := s.checkAll(context.WithoutCancel(ctx))
	endFollowing()
	followers.Wait()
	s.client.Close()
	report.checkEnd(s.daemon)
	if report.OK && !s.keepHome {
		return report, os.RemoveAll(home)
	}
	fmt.Fprintf(os.Stderr, "soak: %s is kept: the daemon's home, with daemon.log\n", home)
	return report, nil
}

// prepare checks that every plugin is ready, and turns the python plugins on.
func (s *soak) prepare(ctx context.Context) error {
	var plugins []struct {
		Name  string  `json:"name"`
		State string  `json:"state"`
		Error *string `json:"error"`
	}
	if err := s.client.Call(ctx, "GET", "/v1/plugins", nil, &plugins); err != nil {
		return err
	}
	for _, p := range plugins {
		if p.Error != nil {
			return fmt.Errorf("plugin %s is %s: %.300s", p.Name, p.State, *p.Error)
		}
	}
	if len(plugins) != pluginCount() {
		return fmt.Errorf("found %d plugins, wanted %d", len(plugins), pluginCount())
	}
	return s.client.Call(ctx, "POST", "/feature/plugins/enable", nil, nil)
}

// follow starts the followers.
func (s *soak) follow(ctx context.Context, group *sync.WaitGroup) {
	for i := range s.options.watchers {
		w := &watcher{name: fmt.Sprintf("follower %d", i), restless: i%2 == 1, client: drive.NewClient(s.daemon.URL), ledger: s.ledger}
		s.watchers = append(s.watchers, w)
		group.Go(func() { w.watch(ctx) })
	}
}

// load lasts for the time of --for, or until there are too many faults.
func (s *soak) load(ctx context.Context) {
	ctx, s.stop = context.WithTimeout(ctx, s.length)
	defer s.stop()
	s.began = time.Now()
	s.sampler = &sampler{daemon: s.daemon, ledger: s.ledger, every: max(time.Second, s.length/mostSamples)}
	var all sync.WaitGroup
	for i := range s.sessions {
		sp := &speaker{number: i, messages: s.messages, pause: s.pause, client: s.client, ledger: s.ledger, watchers: s.watchers}
		all.Go(func() { sp.speak(ctx) })
	}
	k := &keeper{s.client, s.ledger}
	all.Go(func() { k.keep(ctx) })
	all.Go(func() { k.command(ctx) })
	if s.replays > 0 {
		r := &replayer{drive.NewClient(s.daemon.URL), s.ledger, s.length / time.Duration(s.replays)}
		all.Go(func() { r.replay(ctx) })
	}
	all.Go(func() { s.sampler.sample(ctx) })
	all.Go(func() { s.progress(ctx) })
	<-ctx.Done()
	s.loaded = time.Since(s.began)
	all.Wait()
}

// progress prints a line at regular intervals.
func (s *soak) progress(ctx context.Context) {
	last, at := int64(0), s.began
	for {
		pause(ctx, s.intervals)
		if ctx.Err() != nil {
			return
		}
		now, said := time.Now(), s.ledger.messages.Load()
		r := s.sampler.latest()
		fmt.Fprintf(os.Stderr, "soak: %v: %d messages (%.0f/s), %d events, %d replays, %d sessions deleted, anonymous %.0f MB, resident %.0f MB, %d descriptors, %d goroutines, disk %.0f MB, %d faults\n",
			now.Sub(s.began).Round(time.Second), said, float64(said-last)/now.Sub(at).Seconds(), s.ledger.newest(), s.ledger.replays.Load(),
			s.ledger.sessions.Load(), r.Anonymous, r.RSS, r.Files, r.Goroutines, r.Disk, s.ledger.total())
		last, at = said, now
	}
}
