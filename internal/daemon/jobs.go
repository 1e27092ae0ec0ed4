package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/notify"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Jobs holds the scheduled agents of a core: their manifests, and the runner and reporter of their
// runs.
type Jobs struct {
	Store  *job.Store
	Runner *job.Runner

	core        *Core
	reporter    *job.Reporter
	dirsChanged chan struct{} // has room for one signal: the directories or secrets have changed

	mu      sync.Mutex // protects the fields below
	dirs    []string
	secrets *config.Secrets  // values for ${NAME} in manifests
	trouble []config.Problem // problems with the files of the secrets
	loaded  job.Loaded

	accepted accepted

	manual sync.WaitGroup // runs that a client started; Core.running has each of them too
}

// openJobs reads the manifests. Agents are scheduled only by [Jobs.Schedule].
func (c *Core) openJobs(environ []string, secrets *config.Secrets) error {
	dirs, err := c.Dirs.JobDirs(c.Config())
	if err != nil {
		return err
	}
	j := &Jobs{core: c, Store: job.NewStore(c.Engine), dirsChanged: make(chan struct{}, 1)}
	j.setDirs(dirs, secrets)
	j.Store.Logger = c.log
	j.reporter = job.NewReporter(job.ReporterOptions{Host: jobHost{Core: c}, Logger: c.log,
		Notify:   notify.Options{Lookup: j.lookup, Procs: c.procs, Environ: environ, Logger: c.log},
		Dispatch: notify.DispatchOptions{Limiter: notify.NewLimiter(j.Store.Marks(), nil), Logger: c.log}})
	j.Runner = &job.Runner{Host: jobHost{Core: c}, Store: j.Store, Procs: c.procs, Environ: environ, Logger: c.log, Report: j.report,
		Clean: func(text string) string { return c.Host.Hidden().Clean(text) }, Holder: c.Sessions.Holder, StateDir: filepath.Join(c.Dirs.State, "agents")}
	j.Runner.Confine, j.Runner.Check = c.confiner(environ), j.checkAttempt
	j.Reload()
	c.Jobs = j
	return nil
}

// setDirs sets the directories of agents, and the secrets for ${NAME} in their manifests.
func (j *Jobs) setDirs(dirs []string, secrets *config.Secrets) {
	all, trouble := j.core.Dirs.JobSecrets(secrets)
	for _, p := range trouble {
		j.core.log.Warn("ignored the secrets of dotagent", "err", p.String())
	}
	j.mu.Lock()
	j.dirs, j.secrets, j.trouble = dirs, all, trouble
	j.mu.Unlock()
	select {
	case j.dirsChanged <- struct{}{}:
	default: // already signalled
	}
}

// lookup returns the value of ${NAME} with the current secrets.
func (j *Jobs) lookup(name string) (string, bool) {
	j.mu.Lock()
	secrets := j.secrets
	j.mu.Unlock()
	return lookup(secrets, j.Runner.Environ)(name)
}

// lookup returns a function that finds ${NAME}: first in the secrets file, then in the environment.
func lookup(secrets *config.Secrets, environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if secret, ok := secrets.Lookup(name); ok {
			return secret.Reveal(), true
		}
		for _, v := range slices.Backward(environ) {
			if value, ok := cutName(v, name); ok {
				return value, true
			}
		}
		return "", false
	}
}

func cutName(variable, name string) (string, bool) {
	if len(variable) > len(name) && variable[:len(name)] == name && variable[len(name)] == '=' {
		return variable[len(name)+1:], true
	}
	return "", false
}

// Dirs returns the directories that are searched for agents.
func (j *Jobs) Dirs() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dirs
}

// Reload reads the manifests again. An agent whose manifest cannot be used any more goes on as it
// was.
func (j *Jobs) Reload() job.Loaded {
	loaded := job.LoadDirs(j.Dirs())
	j.mu.Lock()
	before := j.loaded
	loaded.Keep(before)
	j.loaded = loaded
	j.mu.Unlock()
	for _, m := range loaded.Kept {
		if !slices.Contains(before.Kept, m) {
			j.core.log.Warn("its manifest cannot be used any more, so the agent goes on as it was", "agent", m.Agent.Name, "path", m.Path,
				"fix", "`patchbay job doctor` says what is wrong with it")
		}
	}
	return loaded
}

// Loaded returns the manifests that were last read.
func (j *Jobs) Loaded() job.Loaded {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.loaded
}

func (j *Jobs) manifests() []*job.Manifest { return j.Loaded().Manifests }

// Schedule runs agents when they are due, until ctx ends. It reads manifests again when they
// change.
func (j *Jobs) Schedule(ctx context.Context) error {
	s := job.NewScheduler(j.Runner, j.manifests)
	var watching sync.WaitGroup
	watch, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1) // has room for one signal: the manifests have changed
	watching.Go(func() { j.examineAll(watch, changed) })
	watching.Go(func() {
		j.watch(watch, func() {
			before := j.Loaded()
			if loaded := j.Reload(); !sameAgents(before, loaded) {
				j.core.log.Info("reloaded agents", "agents", len(loaded.Manifests), "broken", len(loaded.Broken))
			}
			s.Changed()
			select {
			case changed <- struct{}{}:
			default: // already signalled
			}
		})
	})
	err := s.Run(ctx)
	cancel()
	watching.Wait()
	return err
}

// sameAgents reports whether both have the same manifests, valid and broken ones.
func sameAgents(x, y job.Loaded) bool {
	return slices.EqualFunc(x.Manifests, y.Manifests, func(m, n *job.Manifest) bool { return m.Path == n.Path && m.Fingerprint == n.Fingerprint }) &&
		slices.EqualFunc(x.Broken, y.Broken, func(b, c job.Broken) bool { return b.Path == c.Path && b.Err.Error() == c.Err.Error() })
}

// watch calls changed when manifests or their directories may have changed, until ctx ends.
func (j *Jobs) watch(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		round, again := context.WithCancel(ctx)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			select {
			case <-j.dirsChanged:
				again()
			case <-round.Done():
			}
		})
		job.Watch(round, j.Dirs(), j.core.log, changed) // calls changed once at the beginning
		again()
		waiting.Wait()
	}
}

// ReapDeadRuns ends the records of runs whose process has died. A daemon does so all the time. A
// command calls it once before it shows runs.
func (j *Jobs) ReapDeadRuns(ctx context.Context) error { return j.Runner.ReapDead(ctx, j.manifests()) }

// report sends a report to the journal, to plugins and to people.
func (j *Jobs) report(t job.Report) {
	j.core.post("job."+string(t.Event), "", map[string]any{"agent": t.Manifest.Agent.Name, "schedule": t.Run.Schedule, "event": t.Event,
		"run": t.Run.ID, "attempt": t.Attempt, "max_attempts": t.Most, "error": t.Error, "suggest": t.Suggest})
	j.reporter.Report(t)
}

// close waits a while for the runs that clients started, whose context has ended, and then sends
// the remaining reports.
func (j *Jobs) close() error {
	ended := make(chan struct{})
	go func() { j.manual.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(interruptGrace):
		j.core.log.Warn("some runs did not end when they were interrupted")
	}
	return j.reporter.Close()
}

// Find returns an agent and one of its schedules. The schedule "" means the first one, or a
// schedule for runs by hand if the agent has none.
func (j *Jobs) Find(agent, schedule string) (*job.Manifest, *job.Schedule, error) {
	var names []string
	for _, m := range j.manifests() {
		if m.Agent.Name != agent {
			names = append(names, m.Agent.Name)
			continue
		}
		s, err := scheduleOf(m, schedule)
		return m, s, err
	}
	for _, b := range j.Loaded().Broken {
		if b.Path != "" && agentOf(b.Path) == agent {
			return nil, nil, &BrokenJobError{b.Err}
		}
	}
	return nil, nil, &NoJobError{Agent: agent, Known: names}
}

func scheduleOf(m *job.Manifest, id string) (*job.Schedule, error) {
	if id == "" && len(m.Schedules) > 0 {
		return &m.Schedules[0], nil
	}
	if s := m.Schedule(id); s != nil {
		return s, nil
	}
	if byHand := m.ManualSchedule(); id == "" || id == byHand.ID {
		return &byHand, nil
	}
	var known []string
	for _, s := range m.Schedules {
		known = append(known, s.ID)
	}
	return nil, &NoJobError{Agent: m.Agent.Name, Schedule: id, Known: known}
}

// A BrokenJobError says what is wrong with an agent's manifest.
type BrokenJobError struct{ Err error }

func (e *BrokenJobError) Error() string { return e.Err.Error() }
func (e *BrokenJobError) Unwrap() error { return e.Err }

// A NoJobError reports that an agent, or one of its schedules, does not exist.
type NoJobError struct {
	Agent    string
	Schedule string // "": the agent does not exist
	Known    []string
}

func (e *NoJobError) Error() string {
	if e.Schedule != "" {
		return fmt.Sprintf("agent %s has no schedule %q", e.Agent, e.Schedule)
	}
	return fmt.Sprintf("agent %s: not found", e.Agent)
}

// Unwrap makes errors.Is recognize the error as [pluginhost.ErrNotFound].
func (e *NoJobError) Unwrap() error { return pluginhost.ErrNotFound }

// A JobInfo is one schedule of an agent, as `job list --json` prints it.
type JobInfo struct {
	Agent       string      `json:"agent" doc:"The agent's name; for a broken manifest, its directory." example:"disk-report"`
	Schedule    string      `json:"schedule" doc:"The schedule's id; empty for a broken manifest." example:"daily"`
	Description string      `json:"description" doc:"The agent's description." example:"how full the disks are"`
	Path        string      `json:"path" doc:"Its manifest." example:"/home/mira/.config/patchbay/agents/disk-report/agent.toml"`
	Next        *time.Time  `json:"next_run" doc:"When it is due; null if it has no schedule." example:"2026-11-17T06:00:00Z"`
	NextRuns    []time.Time `json:"next_runs" doc:"The times at which it is due within the next 24 hours, at most 20." example:"[\"2026-11-17T06:00:00Z\"]"`
	NextAttempt *time.Time  `json:"next_attempt" doc:"The next attempt of a run that waits; null if no run waits." example:"2026-11-16T06:05:00Z"`
	Running     string      `json:"running" doc:"The run in progress; empty if there is none." example:"disk-report/daily/20261116T060000.000Z"`
	Last        *job.Run    `json:"last_run" doc:"The last run; null if there was none, or if it is too old to be stored."`
	LastSuccess *time.Time  `json:"last_success" doc:"When it last succeeded; null if it never did." example:"2026-11-15T06:00:12Z"`
	Streak      int         `json:"streak" doc:"Runs in a row with the same result: above zero successes, below zero failures." example:"3"`
	Stale       bool        `json:"stale" doc:"Whether its last success is longer ago than its manifest allows." example:"false"`
	Error       string      `json:"error,omitempty" doc:"Why it cannot run." example:"agent.name: is required"`
}

// List returns every schedule of every agent, and the agents with broken manifests.
func (j *Jobs) List(ctx context.Context) ([]JobInfo, error) {
	states, err := j.Store.States(ctx)
	if err != nil {
		return nil, err
	}
	loaded := j.Loaded()
	list := []JobInfo{}
	for _, m := range loaded.Manifests {
		schedules := m.Schedules
		if len(schedules) == 0 {
			schedules = []job.Schedule{m.ManualSchedule()}
		}
		for i := range schedules {
			info, err := j.info(ctx, m, &schedules[i], states[m.Agent.Name+"/"+schedules[i].ID])
			if err != nil {
				return nil, err
			}
			list = append(list, info)
		}
	}
	for _, b := range loaded.Broken {
		list = append(list, JobInfo{NextRuns: []time.Time{}, Agent: agentOf(b.Path), Path: b.Path, Error: b.Err.Error()})
	}
	return list, nil
}

func (j *Jobs) info(ctx context.Context, m *job.Manifest, s *job.Schedule, st job.State) (JobInfo, error) {
	info := JobInfo{NextRuns: []time.Time{}, Agent: m.Agent.Name, Schedule: s.ID, Description: m.Agent.Description, Path: m.Path, Running: st.Active,
		Streak: st.Streak, Stale: st.Stale, NextAttempt: timeOrNil(st.NextAt), LastSuccess: timeOrNil(st.Success)}
	if m.Agent.Monitor && s.Type != "" {
		now := time.Now()
		info.Next, info.NextRuns = timeOrNil(s.Next(now)), nextRuns(s, now)
	}
	if st.Active != "" && info.NextAttempt == nil { // the state has it only for scheduled runs
		run, err := j.Store.Run(ctx, st.Active)
		if err != nil && !errors.Is(err, job.ErrNoRun) {
			return info, err
		}
		if err == nil && run.Status == job.Waiting {
			info.NextAttempt = timeOrNil(run.NextAt)
		}
	}
	if st.LastRun != "" {
		run, err := j.Store.Run(ctx, st.LastRun)
		if err != nil && !errors.Is(err, job.ErrNoRun) { // old records are deleted
			return info, err
		}
		if err == nil {
			info.Last = &run
		}
	}
	return info, nil
}

// mostNextRuns is how many future runs are listed.
const mostNextRuns = 20

// nextRuns returns the ticks of a schedule within the next day.
func nextRuns(s *job.Schedule, now time.Time) []time.Time {
	list := []time.Time{}
	for at := s.Next(now); !at.IsZero() && at.Before(now.Add(24*time.Hour)) && len(list) < mostNextRuns; at = s.Next(at) {
		list = append(list, at)
	}
	return list
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
