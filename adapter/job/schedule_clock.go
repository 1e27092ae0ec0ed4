package job

import (
	"time"

	cron "github.com/netresearch/go-cron"
)

// every is a timing by intervals. Its ticks are the multiples of the interval since 1970-01-01
// 00:00 UTC, so that every machine, and a daemon after a restart, works out the same ones: every 90
// minutes is 00:00, 01:30, 03:00 … on that day.
type every time.Duration

func (e every) next(after time.Time) time.Time {
	step := int64(time.Duration(e) / time.Second)
	seconds := after.Unix()
	passed := seconds % step
	if passed < 0 { // before 1970
		passed += step
	}
	return time.Unix(seconds-passed+step, 0).In(after.Location())
}

// A clock is a timing by what clocks on walls in a zone show. The cron library is asked on a
// calendar without daylight saving, where it is right, and what it answers is then found in the
// zone: in the zone itself it runs the ticks of a repeated hour twice, knows no gap but of a whole
// hour, and loses days that have no midnight.
//
// Readings of the clock are kept as times in UTC that show the same figures.
type clock struct {
	spec *cron.SpecSchedule
	zone *time.Location
}

// allHours are the bits of 24 hours in a cron.SpecSchedule.
const allHours = 1<<24 - 1

func (c *clock) next(after time.Time) time.Time {
	after = after.In(c.zone)
	if c.spec.Hour&allHours == allHours {
		return c.nextReading(after)
	}
	return c.nextOccasion(after)
}

// nextOccasion is for times of day: each reading has one instant. Readings and their instants come
// in the same order, so the first instant after the given one is the next tick.
func (c *clock) nextOccasion(after time.Time) time.Time {
	for reading := c.spec.Next(wallReading(after)); !reading.IsZero(); reading = c.spec.Next(reading) {
		if t := c.instantOf(reading); t.After(after) {
			return t
		}
	}
	return time.Time{}
}

// nextReading is for minutes of every hour: whenever the clock shows one. Between two changes of
// the clock the readings are as far apart as the instants, so each such stretch is searched by
// itself.
func (c *clock) nextReading(after time.Time) time.Time {
	t, from := after, wallReading(after)
	for {
		reading := c.spec.Next(from)
		if reading.IsZero() {
			return time.Time{}
		}
		_, end := t.ZoneBounds()
		if tick := t.Add(reading.Sub(wallReading(t))); end.IsZero() || tick.Before(end) {
			return tick
		}
		t, from = end, wallReading(end).Add(-1) // the very change may be a tick
	}
}

// instantOf is when the clock shows a reading for the first time or, where it jumps over it, when
// it has jumped.
func (c *clock) instantOf(reading time.Time) time.Time {
	t := reading.Add(-24 * time.Hour).In(c.zone) // early enough: no zone is a day from UTC
	for {
		_, offset := t.Zone()
		start, end := t.ZoneBounds()
		tick := reading.Add(-time.Duration(offset) * time.Second).In(c.zone)
		switch {
		case !start.IsZero() && tick.Before(start):
			return start
		case end.IsZero() || tick.Before(end):
			return tick
		}
		t = end
	}
}

// wallReading is what a clock shows at an instant, in its zone.
func wallReading(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
