package job

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones as they are in Go, not as the machine has them

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// expression returns a schedule with a cron expression.
func expression(t testing.TB, text, zoneName string) *Schedule {
	return &Schedule{Type: TypeExpression, Expression: text, Zone: zone(t, zoneName)}
}

// at parses an instant in the format of RFC 3339.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

// ticks returns the ticks of a schedule after one instant, up to another.
func ticks(s *Schedule, after, until time.Time) []string {
	var list []string
	for tick := s.Next(after); !tick.IsZero() && !tick.After(until); tick = s.Next(tick) {
		list = append(list, tick.In(s.location()).Format("02T15:04Z07:00"))
	}
	return list
}

func (s *Schedule) location() *time.Location {
	if s.Zone == nil {
		return time.UTC
	}
	return s.Zone
}

// TestDaylightSaving checks the ticks on days on which clocks are changed.
func TestDaylightSaving(t *testing.T) {
	type day struct{ zone, from, to string }                                                 // both in UTC
	berlinSpring := day{"Europe/Berlin", "2026-03-28T22:59:00Z", "2026-03-29T04:00:00Z"}     // 02:00+01 becomes 03:00+02
	berlinAutumn := day{"Europe/Berlin", "2026-10-24T21:59:00Z", "2026-10-25T04:00:00Z"}     // 03:00+02 becomes 02:00+01
	yorkSpring := day{"America/New_York", "2026-03-08T04:59:00Z", "2026-03-08T09:00:00Z"}    // 02:00-05 becomes 03:00-04
	yorkAutumn := day{"America/New_York", "2026-11-01T03:59:00Z", "2026-11-01T09:00:00Z"}    // 02:00-04 becomes 01:00-05
	howeSpring := day{"Australia/Lord_Howe", "2026-10-03T13:29:00Z", "2026-10-03T17:00:00Z"} // 02:00+10:30 becomes 02:30+11
	howeAutumn := day{"Australia/Lord_Howe", "2026-04-04T12:59:00Z", "2026-04-04T17:00:00Z"} // 02:00+11 becomes 01:30+10:30
	saoPaulo := day{"America/Sao_Paulo", "2018-11-03T02:59:00Z", "2018-11-05T12:00:00Z"}     // 4 November 00:00-03 becomes 01:00-02
	apia := day{"Pacific/Apia", "2011-12-29T09:59:00Z", "2011-12-31T12:00:00Z"}              // 30 December is left out
	greenwich := day{"UTC", "2026-03-28T23:59:00Z", "2026-03-29T05:00:00Z"}                  // as any day
	for _, c := range []struct {
		rule string
		day
		expression string
		want       string
	}{
		{"a time in the gap runs when the gap ends", berlinSpring, "30 2 * * *", "29T03:00+02:00"},
		{"a time in the gap is not lost west of UTC", yorkSpring, "15 2 * * *", "08T03:00-04:00"},
		{"the beginning of the gap is in it", berlinSpring, "0 2 * * *", "29T03:00+02:00"},
		{"the end of the gap is not in it", berlinSpring, "0 3 * * *", "29T03:00+02:00"},
		{"all times in the gap run once together", berlinSpring, "0,20,40 2 * * *", "29T03:00+02:00"},
		{"together with the time at its end", berlinSpring, "30 2,3 * * *", "29T03:00+02:00 29T03:30+02:00"},
		{"a gap of half an hour", howeSpring, "15 2 * * *", "04T02:30+11:00"},
		{"times beside a gap of half an hour do not change", howeSpring, "45 1,2 * * *", "04T01:45+10:30 04T02:45+11:00"},
		{"a midnight that is left out", saoPaulo, "0 0 * * *", "03T00:00-03:00 04T01:00-02:00 05T00:00-02:00"},
		{"on that weekday only", saoPaulo, "0 0 * * 0", "04T01:00-02:00"},
		{"a day that is left out", apia, "0 8 * * *", "29T08:00-10:00 31T00:00+14:00 31T08:00+14:00"},

		{"a time that comes twice runs once", berlinAutumn, "30 2 * * *", "25T02:30+02:00"},
		{"in New York too", yorkAutumn, "30 1 * * *", "01T01:30-04:00"},
		{"the hour after it comes once", yorkAutumn, "0 2 * * *", "01T02:00-05:00"},
		{"a half hour that comes twice", howeAutumn, "45 1 * * *", "05T01:45+11:00"},
		{"the beginning of a half hour that comes twice", howeAutumn, "30 1 * * *", "05T01:30+11:00"},
		{"a time before a half hour that comes twice", howeAutumn, "15 1 * * *", "05T01:15+11:00"},
		{"every ten minutes of one hour stay six", berlinAutumn, "*/10 2 * * *",
			"25T02:00+02:00 25T02:10+02:00 25T02:20+02:00 25T02:30+02:00 25T02:40+02:00 25T02:50+02:00"},
		{"every other hour", berlinAutumn, "0 */2 * * *", "25T00:00+02:00 25T02:00+02:00 25T04:00+01:00"},

		{"every hour in spring", berlinSpring, "30 * * * *", "29T00:30+01:00 29T01:30+01:00 29T03:30+02:00 29T04:30+02:00 29T05:30+02:00"},
		{"every hour in autumn", yorkAutumn, "0 * * * *", "01T00:00-04:00 01T01:00-04:00 01T01:00-05:00 01T02:00-05:00 01T03:00-05:00 01T04:00-05:00"},
		{"every hour on the change itself", berlinSpring, "@hourly", "29T00:00+01:00 29T01:00+01:00 29T03:00+02:00 29T04:00+02:00 29T05:00+02:00 29T06:00+02:00"},
		{"every half hour on a day on which half an hour comes twice", howeAutumn, "*/30 * * * *",
			"05T00:00+11:00 05T00:30+11:00 05T01:00+11:00 05T01:30+11:00 05T01:30+10:30 05T02:00+10:30 05T02:30+10:30 05T03:00+10:30 05T03:30+10:30"},
		{"every hour of a day whose midnight is left out", saoPaulo, "0 * * * 0",
			"04T01:00-02:00 04T02:00-02:00 04T03:00-02:00 04T04:00-02:00 04T05:00-02:00 04T06:00-02:00 04T07:00-02:00 04T08:00-02:00 " +
				"04T09:00-02:00 04T10:00-02:00 04T11:00-02:00 04T12:00-02:00 04T13:00-02:00 04T14:00-02:00 04T15:00-02:00 04T16:00-02:00 " +
				"04T17:00-02:00 04T18:00-02:00 04T19:00-02:00 04T20:00-02:00 04T21:00-02:00 04T22:00-02:00 04T23:00-02:00"},

		{"UTC has no such days", greenwich, "30 2 * * *", "29T02:30Z"},
		{"an interval does not depend on clocks", berlinAutumn, "@every 90m", "25T00:30+02:00 25T02:00+02:00 25T02:30+01:00 25T04:00+01:00"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := expression(t, c.expression, c.zone)
			if got := strings.Join(ticks(s, at(t, c.from), at(t, c.to)), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestInstantOf: the instant of a reading is when a clock first shows that reading or a later one.
// The test compares a year of instants, in zones with different rules, with a clock that is read
// every minute.
func TestInstantOf(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/Nuuk", "UTC"} {
		t.Run(name, func(t *testing.T) {
			c := &clock{zone: zone(t, name)}
			minute := time.Date(2026, 1, 1, 0, 0, 0, 0, c.zone)
			shown := wallReading(minute)
			for range 365 * 24 * 60 {
				minute = minute.Add(time.Minute)
				for ; shown.Before(wallReading(minute)); shown = shown.Add(time.Minute) {
					reading := shown.Add(time.Minute)
					if got := c.instantOf(reading); reading.Minute()%15 == 0 && !got.Equal(minute) {
						t.Fatalf("%s is at %s, want %s", reading, got, minute)
					}
				}
			}
		})
	}
}

// TestNextFromWithin checks the next tick after instants around a change of the clock.
func TestNextFromWithin(t *testing.T) {
	for _, c := range []struct{ rule, zone, expression, after, want string }{
		{"before the gap", "Europe/Berlin", "30 2 * * *", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"at the end of the gap", "Europe/Berlin", "30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"before the first time", "Europe/Berlin", "30 2 * * *", "2026-10-25T00:29:59Z", "2026-10-25T00:30:00Z"},
		{"at the first time", "Europe/Berlin", "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"before the second time", "Europe/Berlin", "30 2 * * *", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"},
		{"within a second", "UTC", "* * * * *", "2026-01-01T00:00:59.5Z", "2026-01-01T00:01:00Z"},
		{"between two passes, every minute", "Europe/Berlin", "* * * * *", "2026-10-25T00:59:30Z", "2026-10-25T01:00:00Z"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := expression(t, c.expression, c.zone).Next(at(t, c.after)); !got.Equal(at(t, c.want)) {
				t.Errorf("got %s, want %s", got.UTC(), c.want)
			}
		})
	}
}

// TestNext: the types of schedule on ordinary days. 1 June 2026 is a Monday.
func TestNext(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		rule string
		Schedule
		after, want string
	}{
		{"cron has days, hours and a minute", Schedule{Type: TypeCron, Weekdays: []int{0, 3}, Hours: []int{20, 8}, Minute: 30, Zone: time.UTC},
			"2026-06-01T00:00:00Z", "2026-06-03T08:30:00Z"},
		{"cron goes on to the next hour", Schedule{Type: TypeCron, Weekdays: []int{0, 3}, Hours: []int{20, 8}, Minute: 30, Zone: time.UTC},
			"2026-06-03T08:30:00Z", "2026-06-03T20:30:00Z"},
		{"0 is Sunday", Schedule{Type: TypeCron, Weekdays: []int{0}, Hours: []int{0}, Zone: time.UTC}, "2026-06-01T00:00:00Z", "2026-06-07T00:00:00Z"},
		{"no weekdays is every day", Schedule{Type: TypeCron, Hours: []int{7}, Zone: berlin}, "2026-06-01T05:00:00Z", "2026-06-02T05:00:00Z"},
		{"an interval counts from 1970", Schedule{Type: TypeInterval, Interval: 90 * time.Minute}, "1970-01-01T00:00:00Z", "1970-01-01T01:30:00Z"},
		{"an interval counts back from 1970", Schedule{Type: TypeInterval, Interval: 90 * time.Minute}, "1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z"},
		{"an interval of a day begins at midnight in UTC", Schedule{Type: TypeInterval, Interval: 24 * time.Hour}, "2026-06-01T00:00:00.1Z", "2026-06-02T00:00:00Z"},
		{"names of days", Schedule{Type: TypeExpression, Expression: "0 9 * * MON-THU", Zone: time.UTC}, "2026-06-01T09:00:00Z", "2026-06-02T09:00:00Z"},
		{"a THU alone", Schedule{Type: TypeExpression, Expression: "0 9 * * THU", Zone: time.UTC}, "2026-06-01T09:00:00Z", "2026-06-04T09:00:00Z"},
		{"either day matches, as in crontab(5)", Schedule{Type: TypeExpression, Expression: "0 0 13 * FRI", Zone: time.UTC}, "2026-06-01T00:00:00Z", "2026-06-05T00:00:00Z"},
		{"7 is Sunday too", Schedule{Type: TypeExpression, Expression: "0 0 * * 7", Zone: time.UTC}, "2026-06-01T00:00:00Z", "2026-06-07T00:00:00Z"},
		{"the last day of a month", Schedule{Type: TypeExpression, Expression: "0 0 L * *", Zone: time.UTC}, "2028-02-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"a leap day", Schedule{Type: TypeExpression, Expression: "0 0 29 2 *", Zone: time.UTC}, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"CRON_TZ", Schedule{Type: TypeExpression, Expression: "CRON_TZ=Asia/Tokyo 30 4 * * *"}, "2026-06-01T00:00:00Z", "2026-06-01T19:30:00Z"},
		{"TZ, with more space than needed", Schedule{Type: TypeExpression, Expression: " TZ=Asia/Tokyo   @daily "}, "2026-06-01T00:00:00Z", "2026-06-01T15:00:00Z"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := c.Next(at(t, c.after)); !got.Equal(at(t, c.want)) {
				t.Errorf("got %s, want %s", got.UTC(), c.want)
			}
		})
	}
}

func TestNextIsLocalByDefault(t *testing.T) {
	s := Schedule{Type: TypeCron, Hours: []int{7}}
	if got := s.Next(at(t, "2026-06-01T00:00:00Z")).In(time.Local); got.Hour() != 7 || got.Minute() != 0 {
		t.Errorf("got %s", got)
	}
}

// TestBadExpressions: an invalid expression never panics, and its error has the place.
func TestBadExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"nonsense":                              `"nonsense" is not a cron expression: `,
		"* * * *":                               `is not a cron expression: `,
		"0 0 0 * * *":                           `is not a cron expression: `,
		"61 * * * *":                            `end of range (61) above maximum (59): "61"`,
		"x * * * *":                             `not a number: "x"`,
		"*/0 * * * *":                           `step of range must be a positive number`,
		"TZ=":                                   `"" is not a time zone known here`,
		"TZ=Europe/Berlin":                      `"" is not a cron expression`,
		"TZ= * * * * *":                         `"" is not a time zone known here`,
		"CRON_TZ=Nowhere/Land * * * * *":        `"Nowhere/Land" is not a time zone known here`,
		"TZ=../../etc/passwd * * * * *":         `"../../etc/passwd" is not a time zone known here`,
		"@reboot":                               `unrecognized descriptor`,
		"@every 5":                              `not a duration: "@every 5"`,
		"@every 1s":                             `must be at least 1m0s`,
		"@every 20000h":                         `runs less than once a year`,
		"0 0 30 2 *":                            `there is no such day: it would never run`,
		strings.Repeat("1,", 600) + "1 * * * *": `is not a cron expression: spec too long`,
	} {
		_, err := Parse(testPath(), fmt.Appendf(nil, "%s[[schedules]]\nid = \"s\"\ntype = \"expression\"\nexpression = %q\n", minimal, text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "agent.toml:8:14: schedules[0].expression: ") {
			t.Errorf("%.40q: got %v", text, err)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%.40q: an error of %d bytes", text, len(err.Error()))
		}
	}
}

func TestTwoZones(t *testing.T) {
	_, err := Parse(testPath(), []byte(minimal+"[[schedules]]\nid = \"s\"\ntype = \"expression\"\nexpression = \"TZ=UTC @daily\"\ntimezone = \"UTC\"\n"))
	if err == nil || !strings.Contains(err.Error(), "keep one of them") {
		t.Errorf("got %v", err)
	}
}

// TestDue: a machine that slept runs once for all ticks that it slept through.
func TestDue(t *testing.T) {
	hourly := expression(t, "0 * * * *", "UTC")
	for _, c := range []struct {
		rule string
		*Schedule
		last, now, want string // want is empty if nothing is due
	}{
		{"nothing before the next tick", hourly, "2026-06-01T08:00:00Z", "2026-06-01T08:59:59Z", ""},
		{"at the tick", hourly, "2026-06-01T08:00:00Z", "2026-06-01T09:00:00Z", "2026-06-01T09:00:00Z"},
		{"after it", hourly, "2026-06-01T08:00:00Z", "2026-06-01T09:10:00Z", "2026-06-01T09:00:00Z"},
		{"the latest of many", hourly, "2026-06-01T08:00:00Z", "2026-06-04T09:10:00Z", "2026-06-04T09:00:00Z"},
		{"the latest of a million", expression(t, "* * * * *", "UTC"), "2024-06-01T08:00:00Z", "2026-06-01T08:00:30Z", "2026-06-01T08:00:00Z"},
		{"the latest of many long ago", expression(t, "* * * 1 *", "UTC"), "2024-12-01T00:00:00Z", "2025-12-31T00:00:00Z", "2025-01-31T23:59:00Z"},
		{"the latest of a few", expression(t, "0 9 * * 1", "UTC"), "2026-05-01T00:00:00Z", "2026-06-07T00:00:00Z", "2026-06-01T09:00:00Z"},
		{"of intervals", &Schedule{Type: TypeInterval, Interval: time.Hour}, "2026-06-01T08:30:00Z", "2026-06-02T08:30:00Z", "2026-06-02T08:00:00Z"},
		{"a clock that was set back", hourly, "2026-06-01T08:00:00Z", "2026-06-01T07:30:00Z", ""},
		{"the second of a repeated hour is not due", expression(t, "30 2 * * *", "Europe/Berlin"), "2026-10-25T00:30:00Z", "2026-10-25T01:45:00Z", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			tick, ok := c.Due(at(t, c.last), at(t, c.now))
			if ok != (c.want != "") || ok && !tick.Equal(at(t, c.want)) {
				t.Errorf("got %s, %t", tick.UTC(), ok)
			}
		})
	}
	t.Run("nothing is due without a time to count from", func(t *testing.T) {
		if tick, ok := hourly.Due(time.Time{}, at(t, "2026-06-01T08:00:00Z")); ok {
			t.Errorf("got %s", tick)
		}
	})
}

// TestRunID: every machine computes the same id for a tick, whatever its zone.
func TestRunID(t *testing.T) {
	tick := time.Date(2026, 6, 1, 8, 30, 0, 0, zone(t, "Europe/Berlin"))
	for _, at := range []time.Time{tick, tick.In(zone(t, "America/New_York"))} {
		if got := runID("reports", "daily", at, false); got != "reports/daily/20260601T063000.000Z" {
			t.Errorf("got %s", got)
		}
	}
}

// TestScheduleSlug: Slug equals the $AGENT_SLUG of dotagent for the examples of dotagent.
func TestScheduleSlug(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "default"},
		{[]string{"", "--"}, "default"},
		{[]string{"--period", "dia-anterior"}, "period_dia-anterior"},
		{[]string{"--mode", "unsubscribe"}, "mode_unsubscribe"},
		{[]string{"--Path=/tmp/../x!"}, "path_tmp_x"},
		{[]string{strings.Repeat("é", 500)}, "default"},
		{[]string{strings.Repeat("x", 500)}, strings.Repeat("x", maxSlug)},
	} {
		if got := (&Schedule{Args: c.args}).Slug(); got != c.want {
			t.Errorf("%q: got %q, want %q", c.args, got, c.want)
		}
	}
}

// FuzzExpression: no expression panics or hangs, ticks go forward and fall on whole minutes, and
// Next just before a tick returns that tick.
func FuzzExpression(tf *testing.F) {
	f := variants.Of(tf)
	for _, text := range []string{
		"* * * * *", "30 2 * * *", "*/7 1-3,5 L * FRI#2", "0 0 29 2 *", "TZ= * * * * *", "TZ=Asia/Tokyo @daily", "@every 90m",
		"CRON_TZ=", "0 0 15W * ?", "55-5 22-2 * NOV-FEB FRI-MON", "0 9 * * THU", "0-59/59 * 31W 2 *",
	} {
		for _, seconds := range []int64{0, 1774746000, 1792888200} { // 1970, and the Berlin changes of 2026
			f.Add(text, seconds, "Europe/Berlin")
			f.Add(text, seconds, "Australia/Lord_Howe")
		}
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64, name string) {
		z, err := loadZone(name)
		if err != nil {
			return
		}
		timing, err := parseExpression(text, z)
		if err != nil {
			return
		}
		const century = 100 * 365 * 24 * 60 * 60
		tick := time.Unix(seconds%century, 0)
		for range 5 {
			next := timing.next(tick)
			if next.IsZero() {
				return
			}
			if !next.After(tick) || next.Second() != 0 && next.Year() > 1972 && isClock(timing) { // offsets had seconds until then
				t.Fatalf("%q: after %s comes %s", text, tick, next)
			}
			if again := timing.next(next.Add(-1)); !again.Equal(next) {
				t.Fatalf("%q: just before %s the next is %s", text, next, again)
			}
			tick = next
		}
	})
}

func isClock(t timing) bool {
	_, ok := t.(*clock)
	return ok
}

func BenchmarkNext(b *testing.B) {
	s := expression(b, "30 2 * * *", "Europe/Berlin")
	var err error
	if s.timing, err = s.compile(); err != nil {
		b.Fatal(err)
	}
	for tick := time.Unix(0, 0); b.Loop(); {
		tick = s.Next(tick)
	}
}
