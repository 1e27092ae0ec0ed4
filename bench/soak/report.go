package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// A Report is the result of the soak.
type Report struct {
	OK       bool           `json:"ok"`
	Seconds  float64        `json:"seconds"`
	Sessions int            `json:"sessions"`
	Pause    string         `json:"pause"`
	Messages int64          `json:"messages"`
	Rate     float64        `json:"messages_per_second"`
	Events   uint64         `json:"events"`
	Deleted  int64          `json:"sessions_deleted"`
	Replays  int64          `json:"replays"`
	Replayed int64          `json:"events_replayed"`
	Returns  int64          `json:"followers_came_back"`
	Notes    int64          `json:"notes_stored"`
	Commands int64          `json:"commands_fired"`
	Runs     int            `json:"job_runs"`
	Checks   []Check        `json:"checks"`
	Faults   map[string]int `json:"faults"`
	Examples []string       `json:"examples,omitempty"`
	Readings []reading      `json:"readings"`
}

// A Check is one thing that must hold.
type Check struct {
	What  string `json:"what"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
}

func (r *Report) check(what string, ok bool, format string, args ...any) {
	r.Checks = append(r.Checks, Check{what, ok, fmt.Sprintf(format, args...)})
	r.OK = r.OK && ok
}

// The growth that is allowed from the second quarter of the time to the last: a factor, and a
// constant for small values.
const (
	growthAllowed  = 0.10
	memoryAllowed  = 8.0  // MB more
	countAllowed   = 10.0 // descriptors or goroutines more
	diskAllowed    = 64.0 // MB more: the server frees disk space in whole blocks of 8 MB, for each stream
	diskGrowth     = 0.25
	fewestReadings = 16 // fewer make a quarter meaningless
)

// shortestQuarter is how long a quarter of the time must be for a comparison. After the first
// quarter the daemon must be warm: the engine remembers ids for a minute, and the first sessions
// must have been deleted.
const shortestQuarter = 2 * time.Minute

// total returns the number of faults of all kinds.
func (l *ledger) total() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, count := range l.faults {
		n += count
	}
	return n
}

// checkAll makes all checks that need a running daemon.
func (s *soak) checkAll(ctx context.Context) Report {
	r := Report{OK: true, Seconds: s.loaded.Seconds(), Sessions: s.sessions, Pause: s.pause.String(), Readings: s.sampler.readings()}
	r.check("the load went on to the end", s.loaded >= s.length, "%v of %v", s.loaded.Round(time.Second), s.length)
	s.awaitAll(ctx, &r)
	s.checkCounts(&r)
	s.checkDrops(ctx, &r)
	s.checkRuns(ctx, &r)
	r.checkGrowth(s.sampler.readings())
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	r.Faults, r.Examples = s.ledger.faults, s.ledger.examples
	return r
}

// awaitAll makes one last event, and waits until every follower has seen it.
func (s *soak) awaitAll(ctx context.Context, r *Report) {
	const what = "every follower saw the last event"
	id, err := s.client.CreateSession(ctx)
	if err != nil {
		r.check(what, false, "%v", err)
		return
	}
	turn, err := s.client.Send(ctx, id, "the last one")
	if err != nil {
		r.check(what, false, "%v", err)
		return
	}
	begin := time.Now()
	(&speaker{ledger: s.ledger, watchers: s.watchers}).awaitFollowers(id, turn.Turn)
	end := s.ledger.endOf(id, turn.Turn)
	r.check(what, end > 0 && passed(s.watchers, end), "event %d, after %v", end, time.Since(begin).Round(time.Millisecond))
}

// checkCounts checks the numbers that were counted during the load.
func (s *soak) checkCounts(r *Report) {
	l := s.ledger
	r.Messages, r.Events, r.Deleted = l.messages.Load(), l.newest(), l.sessions.Load()
	r.Rate = float64(r.Messages) / s.loaded.Seconds()
	r.Replays, r.Replayed, r.Notes, r.Commands = l.replays.Load(), l.replayed.Load(), l.notes.Load(), l.commands.Load()
	none := func(what, found string, kinds ...string) {
		n := 0
		for _, kind := range kinds {
			n += l.faultsOf(kind)
		}
		r.check(what, n == 0, "%d wrong; %s", n, found)
	}
	none("every request was answered", fmt.Sprintf("%d messages", r.Messages), "request failed", "no sample")
	none("every acknowledged message is in its transcript, once, in order, answered", fmt.Sprintf("%d of %d compared", l.compared.Load(), r.Messages), "transcript differs")
	r.check("every acknowledged message was compared", l.compared.Load() == r.Messages, "%d of %d", l.compared.Load(), r.Messages)
	for _, w := range s.watchers {
		r.Returns += w.returns.Load()
	}
	none("each follower saw every id exactly once, and what the others saw",
		fmt.Sprintf("%d followers, %d events each, came back %d times, %d holes of deleted sessions", len(s.watchers), r.Events, r.Returns, l.excused.Load()),
		"hole", "seen twice", "seen otherwise", "gap told", "stream broken", "event late", "event unreadable")
	none("every replay got what the followers saw", fmt.Sprintf("%d replays, %d events", r.Replays, r.Replayed), "replay differs")
	none("every note was stored, read back and deleted", fmt.Sprintf("%d notes", r.Notes), "storage failed")
	none("every command went through its plugin", fmt.Sprintf("%d commands", r.Commands), "command failed")
}

// checkDrops checks that the journal dropped no event, and that no plugin failed or was restarted.
func (s *soak) checkDrops(ctx context.Context, r *Report) {
	dropped, err := s.client.Dropped(ctx)
	r.check("the journal dropped nothing", err == nil && dropped == 0 && s.ledger.faultsOf("events dropped") == 0, "%d dropped%s", dropped, because(err))
	counters, err := s.client.Metrics(ctx)
	restarts, failed := counters["patchbay_plugin_restarts_total"], counters["patchbay_plugin_errors_total"]
	r.check("no plugin failed or was restarted", err == nil && restarts == 0 && failed == 0, "%.0f failed calls, %.0f restarts%s", failed, restarts, because(err))
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// checkRuns checks that the agent ran once for each minute.
func (s *soak) checkRuns(ctx context.Context, r *Report) {
	ticks, err := runs(ctx, s.client)
	wanted := min(int(s.loaded/time.Minute)-1, 999) // the last one may still run, and a page has at most 1,000 runs
	r.Runs = len(ticks)
	r.check("the agent ran once for each minute", err == nil && len(ticks) >= wanted, "%d runs%s", len(ticks), because(err))
}

// checkGrowth compares the last quarter of the time with the second. In the first quarter the
// daemon gets warm.
func (r *Report) checkGrowth(list []reading) {
	if length := time.Duration(r.Seconds * float64(time.Second)); length < 4*shortestQuarter || len(list) < fewestReadings {
		r.check("memory, descriptors and disk are flat", true, "not judged: it needs at least %v and %d readings; there were %v and %d",
			4*shortestQuarter, fewestReadings, length.Round(time.Second), len(list))
		return
	}
	grows := func(what, unit string, share, more float64, of func(reading) float64) {
		early, late := quarter(list, 1, of), quarter(list, 3, of)
		limit := early*(1+share) + more
		r.check(what, late <= limit, "second quarter %.1f, last %.1f%s (at most %.1f)", early, late, unit, limit)
	}
	grows("anonymous memory is flat", " MB", growthAllowed, memoryAllowed, func(v reading) float64 { return v.Anonymous })
	grows("resident memory is flat", " MB", growthAllowed, memoryAllowed, func(v reading) float64 { return v.RSS })
	grows("goroutines are flat", "", growthAllowed, countAllowed, func(v reading) float64 { return float64(v.Goroutines) })
	grows("descriptors are flat", "", growthAllowed, countAllowed, func(v reading) float64 { return float64(v.Files) })
	grows("data on disk is bounded", " MB", diskGrowth, diskAllowed, func(v reading) float64 { return v.Disk })
}

// checkEnd stops the daemon, and checks its exit code, its log, and that no process is left.
func (r *Report) checkEnd(d *drive.Daemon) {
	err := d.Stop()
	r.check("the daemon ended by itself, with exit code 0", err == nil, "%s", strings.TrimPrefix(because(err), ": "))
	left, err := drive.Left(d.Home)
	r.check("no process is left", err == nil && len(left) == 0, "%d%s %s", len(left), because(err), strings.Join(left, "; "))
	words, err := d.Log("panic:", "DATA RACE", " error: ")
	r.check("the log has no error", err == nil && words["panic:"]+words["DATA RACE"]+words[" error: "] == 0, "%v%s", words, because(err))
}

// text returns the summary for people.
func (r Report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages in %.0f s (%.0f a second) by %d sessions at once, pause %s; %d events, %d sessions deleted\n\n",
		r.Messages, r.Seconds, r.Rate, r.Sessions, r.Pause, r.Events, r.Deleted)
	for _, c := range r.Checks {
		mark := "ok    "
		if !c.OK {
			mark = "FAILED"
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", mark, c.What, c.Found)
	}
	for _, e := range r.Examples {
		fmt.Fprintf(&b, "        %s\n", e)
	}
	return b.String()
}
