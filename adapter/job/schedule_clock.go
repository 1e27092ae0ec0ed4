package job

import (
	"time"

	cron "github.com/netresearch/go-cron"
)

// every is a timing of intervals. Its ticks are the multiples of the interval since 1970-01-01
// 00:00 UTC, so that every machine, and a daemon after a restart, computes the same ticks: every 90
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

// A clock is a timing of wall-clock times in a zone. The cron library computes wall-clock readings
// on a calendar without daylight saving, and clock then finds the instants of those readings in the
// zone. If the library computed in the zone itself, it would run the ticks of a repeated hour
// twice, handle only gaps of a whole hour, and lose days that have no midnight.
//
// A reading is represented as the time in UTC that shows the same figures.
type clock struct {
	spec *cron.SpecSchedule
	zone *time.Location
}

// allHours has the bits of all 24 hours in a cron.SpecSchedule.
const allHours = 1<<24 - 1

func (c *clock) next(after time.Time) time.Time {
	after = after.In(c.zone)
	if c.spec.Hour&allHours == allHours {
		return c.nextReading(after)
	}
	return c.nextOccasion(after)
}

// nextOccasion returns the next tick of a schedule of times of day. In such a schedule each reading
// has one instant, and a later reading never has an earlier one. So nextOccasion takes the readings
// in order, and returns the first instant that is after the given one.
func (c *clock) nextOccasion(after time.Time) time.Time {
	for reading := c.spec.Next(wallReading(after)); !reading.IsZero(); reading = c.spec.Next(reading) {
		if t := c.instantOf(reading); t.After(after) {
			return t
		}
	}
	return time.Time{}
}

// nextReading returns the next tick of a schedule of minutes of every hour: the next instant at
// which the wall clock shows such a minute. Between two changes of the clock, readings are as far
// apart as their instants, so nextReading searches each such period by itself.
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
		t, from = end, wallReading(end).Add(-1) // the change itself may be a tick
	}
}

// instantOf returns when the wall clock shows a reading for the first time. If the clock skips the
// reading, it returns when the gap ends.
func (c *clock) instantOf(reading time.Time) time.Time {
	t := reading.Add(-24 * time.Hour).In(c.zone) // early enough: every zone is less than a day from UTC
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

// wallReading returns what a wall clock shows at t in the zone of t.
func wallReading(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
