package job

import (
	"strings"
	"time"
)

// A Schedule is one entry of [[schedules]]: when an agent runs, and with what. Its zone decides
// what a time of day means; ticks are instants, the same for every machine that reads the manifest.
//
// # Daylight saving
//
// A time of day that the clocks jump over in spring runs once, at the moment the gap ends: 02:30
// runs at 03:00. Several such times run once together. A time of day that comes twice in autumn
// runs the first time only.
//
// A schedule that names all 24 hours is meant by the hour and not by the time of day: it follows
// the minute hand through both passes of a repeated hour and makes up for nothing after a gap, so
// that "every ten minutes" stays that. An interval knows no clocks at all.
type Schedule struct {
	ID   string
	Type ScheduleType

	Weekdays   []int          // cron: 0 is Sunday; empty: every day
	Hours      []int          // cron: 0–23
	Minute     int            // cron
	Interval   time.Duration  // interval
	Expression string         // expression: a cron string, as written
	Zone       *time.Location // nil: the machine's own; intervals have none

	Args  []string // after the agent's own
	Retry Retry    // the schedule's, or the agent's defaults

	timing timing // what the fields above come to; nil: not worked out yet
}

// ScheduleType is how a schedule says when.
type ScheduleType string

// The types of schedule.
const (
	TypeCron       ScheduleType = "cron"       // days of the week, hours, and a minute
	TypeInterval   ScheduleType = "interval"   // every so many minutes
	TypeExpression ScheduleType = "expression" // a line of crontab(5)
)

// timing is the mathematics of a schedule: the first tick after an instant, zero where there is
// none.
type timing interface {
	next(after time.Time) time.Time
}

// Next is the first tick after an instant; zero where there is none.
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

// Due is the tick that should have run by now, given the last one that was taken care of, or when
// the schedule was first seen: the latest after last and not after now. However many ticks a
// machine slept through, it is one run. Where last is zero nobody knows since when to count, and
// nothing is due.
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

// latest is the last tick up to now, given an earlier one. Minutes of a year are half a million, so
// it halves what is left instead of going through them.
func (s *Schedule) latest(tick, now time.Time) time.Time {
	isDue := func(t time.Time) bool { return !t.IsZero() && !t.After(now) }
	end := now // there is no tick from here to now
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

// Slug is what the original calls the slug of a run, and sets as $AGENT_SLUG: the schedule's
// arguments as a word, `default` where there are none. [--period last-day] is period_last-day.
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

// maxSlug keeps a slug from being longer than a file name may be, with room for an ending.
const maxSlug = 100

// slugWord is one argument without its leading dashes, in lower case, and with _ for whatever is no
// letter, digit or dash.
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
