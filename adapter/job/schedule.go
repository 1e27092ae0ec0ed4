package job

import (
	"strings"
	"time"
)

// A Schedule is one entry of [[schedules]]: when an agent runs, and with which arguments. Its zone
// decides what a time of day means. Ticks are instants. If the schedule has a zone or is an
// interval, they are the same on every machine that reads the manifest.
//
// # Daylight saving
//
// A time of day that the clocks skip in spring runs once, when the gap ends: 02:30 runs at 03:00.
// Several such times run once together. A time of day that comes twice in autumn runs the first
// time only.
//
// A schedule that lists all 24 hours means minutes of every hour, not times of day. It runs in both
// passes of a repeated hour, and does not run an extra time after a gap. So a schedule of every ten
// minutes runs every ten minutes on these days too. Daylight saving does not affect an interval.
type Schedule struct {
	ID   string
	Type ScheduleType

	Weekdays   []int          // cron: 0 is Sunday; empty: every day
	Hours      []int          // cron: 0–23
	Minute     int            // cron
	Interval   time.Duration  // interval
	Expression string         // expression: a cron string, as written
	Zone       *time.Location // nil: the machine's own; intervals have none

	Args  []string // follow those of the agent
	Retry Retry    // the schedule's own, or the agent's defaults

	timing timing // compiled from the fields above; nil: not yet compiled
}

// A ScheduleType says in which form a schedule gives its times.
type ScheduleType string

// The types of schedule.
const (
	TypeCron       ScheduleType = "cron"       // days of the week, hours, and a minute
	TypeInterval   ScheduleType = "interval"   // every so many minutes
	TypeExpression ScheduleType = "expression" // a line of crontab(5)
)

// A timing computes ticks: next returns the first tick after an instant, or zero if there is none.
type timing interface {
	next(after time.Time) time.Time
}

// Next returns the first tick after an instant, or zero if there is none.
func (s *Schedule) Next(after time.Time) time.Time {
	t := s.timing
	if t == nil { // not from a manifest
		var err error
		if t, err = s.compile(); err != nil {
			return time.Time{}
		}
	}
	return t.next(after)
}

// Due returns the tick that is due: the latest tick after the instant last, up to the instant now.
// last is the tick that was handled most recently, or the time at which the schedule was first
// seen. If a machine slept through several ticks, they are one run. If last is zero, nothing is
// due.
func (s *Schedule) Due(last, now time.Time) (tick time.Time, ok bool) {
	if last.IsZero() {
		return time.Time{}, false
	}
	tick = s.Next(last)
	if tick.IsZero() || tick.After(now) {
		return time.Time{}, false
	}
	return s.latest(tick, now), true
}

// latest returns the last tick up to now, given an earlier one. A year has half a million minutes,
// so latest uses a binary search.
func (s *Schedule) latest(tick, now time.Time) time.Time {
	isDue := func(t time.Time) bool { return !t.IsZero() && !t.After(now) }
	end := now // no tick lies between end and now
	for next := s.Next(tick); isDue(next); next = s.Next(tick) {
		tick = next
		middle := tick.Add(end.Sub(tick) / 2)
		if later := s.Next(middle); isDue(later) {
			tick = later
		} else {
			end = middle
		}
	}
	return tick
}

// Slug returns the value of $AGENT_SLUG, which dotagent calls the slug of a run: the schedule's
// arguments joined into one word, or `default` if there are none. [--period last-day] becomes
// period_last-day.
func (s *Schedule) Slug() string {
	words := make([]string, 0, len(s.Args))
	for _, arg := range s.Args {
		if word := slugWord(arg); word != "" {
			words = append(words, word)
		}
	}
	slug := strings.Join(words, "_")
	if slug == "" {
		return "default"
	}
	if len(slug) > maxSlug {
		return slug[:maxSlug]
	}
	return slug
}

// maxSlug keeps a slug, with an ending, shorter than the longest file name.
const maxSlug = 100

// slugWord returns one argument in lower case and without its leading dashes. Each run of
// characters that are not ASCII letters, digits or dashes becomes one _. At the beginning and at
// the end of the word it is removed.
func slugWord(arg string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimLeft(arg, "-")) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return strings.TrimRight(b.String(), "_")
}
