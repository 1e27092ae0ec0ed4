package job

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	cron "github.com/netresearch/go-cron"

	"github.com/patchbay-dev/patchbay/internal/document"
)

func readSchedules(tables []*document.Table, defaults Retry) []Schedule {
	schedules := make([]Schedule, 0, len(tables))
	ids := make(map[string]int, len(tables))
	for i, t := range tables {
		s := readSchedule(t, defaults)
		if first, taken := ids[s.ID]; taken && s.ID != "" {
			t.Bad("id", "give it another id", "%q is taken by schedules[%d]", document.Cut(s.ID), first)
		} else {
			ids[s.ID] = i
		}
		schedules = append(schedules, s)
	}
	return schedules
}

func readSchedule(t *document.Table, defaults Retry) Schedule {
	s := Schedule{
		ID:    readName(t, "id"),
		Type:  ScheduleType(t.Required("type")),
		Args:  readArgs(t, "args"),
		Retry: readRetry(t, defaults),
	}
	switch s.Type {
	case TypeCron:
		s.readCron(t)
	case TypeInterval:
		s.readInterval(t)
	case TypeExpression:
		s.readExpression(t)
	default:
		if s.Type != "" {
			document.OneOf(t, "type", "", TypeCron, TypeInterval, TypeExpression)
		}
		return s // the other keys depend on the type, so they cannot be checked
	}
	t.End()
	return s
}

// readCron reads the keys of a cron schedule. `hours` is required, so that a schedule does not run
// every hour because a line was forgotten.
func (s *Schedule) readCron(t *document.Table) {
	s.Weekdays = numbers(t, "weekdays", span{0, 6})
	s.Hours = numbers(t, "hours", span{0, 23})
	s.Minute = number(t, "minute", 0, span{0, 59})
	s.Zone = readZone(t)
	for _, key := range []string{"weekdays", "hours"} {
		if v := t.Value(key); v.Kind() == document.List && v.Len() == 0 {
			t.Bad(key, "write at least one, or remove the schedule", "an empty list means never")
		}
	}
	if !t.Has("hours") {
		t.Bad("hours", "write the hours from 0 to 23, as in hours = [8, 20]", "is required")
		return
	}
	if s.Hours != nil {
		s.compileTiming(t, "hours")
	}
}

func (s *Schedule) readInterval(t *document.Table) {
	const key = "interval_minutes"
	if !t.Has(key) {
		t.Missing(key, "…")
	}
	s.Interval = time.Duration(number(t, key, 1, span{1, maxMinutes})) * time.Minute
	s.compileTiming(t, key)
}

func (s *Schedule) readExpression(t *document.Table) {
	s.Expression = t.Required("expression")
	s.Zone = readZone(t)
	if s.Expression != "" {
		s.compileTiming(t, "expression")
	}
}

// compileTiming compiles the timing and checks that it has at least one tick.
func (s *Schedule) compileTiming(t *document.Table, key string) {
	var err error
	if s.timing, err = s.compile(); err != nil {
		t.Bad(key, "docs/jobs.md says how schedules are written", "%s", err)
		return
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		t.Bad(key, "write a day that its month has", "there is no such day: it would never run")
	}
}

// readZone reads `timezone`, or returns nil if it is absent. dotagent does not have this key: there
// every time is in the zone of the machine.
func readZone(t *document.Table) *time.Location {
	name := t.Text("timezone", "")
	if name == "" {
		return nil
	}
	zone, err := loadZone(name)
	if err != nil {
		t.Bad("timezone", `write a name as in "Europe/Berlin"`, "%s", err)
	}
	return zone
}

// loadZone loads a zone by its name. Its error leaves out the places that time.LoadLocation
// searched.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if name == "" || err != nil {
		return nil, fmt.Errorf("%q is not a time zone known here", document.Cut(name))
	}
	return zone, nil
}

// compile turns the fields of a schedule into a timing.
func (s *Schedule) compile() (timing, error) {
	switch s.Type {
	case TypeInterval:
		if s.Interval < time.Second {
			return nil, errors.New("an interval must be at least a second")
		}
		return every(s.Interval), nil
	case TypeCron:
		return parseExpression(s.crontab(), s.Zone)
	case TypeExpression:
		return parseExpression(s.Expression, s.Zone)
	}
	return nil, fmt.Errorf("%q is not a type of schedule", document.Cut(string(s.Type)))
}

// crontab returns a cron schedule as an expression.
func (s *Schedule) crontab() string {
	return fmt.Sprintf("%d %s * * %s", s.Minute, join(s.Hours), join(s.Weekdays))
}

// join returns numbers as a field of an expression; an empty list is a star.
func join(numbers []int) string {
	if len(numbers) == 0 {
		return "*"
	}
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// fields are the parts that an expression may have: the five fields of crontab(5); @daily and the
// like; and L, W and # for last days, nearest workdays and nth weekdays. A day matches if either of
// its two fields matches, unless one of them is a star.
const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
	cron.DowOrDom | cron.Descriptor | cron.Extended

// maxSearchYears is how far away the next tick may be. Two 29 Februaries are at most eight years
// apart, as in 1896 and 1904.
const maxSearchYears = 8

// parseExpression parses a cron expression, which may begin with a zone as in crontabs: TZ=… or
// CRON_TZ=….
func parseExpression(text string, zone *time.Location) (timing, error) {
	text, zone, err := cutZone(strings.TrimSpace(text), zone)
	if err != nil {
		return nil, err
	}
	parser, err := cron.TryNewParser(fields)
	if err != nil {
		return nil, err
	}
	// In lower case, because the library gives an upper-case H, as in THU, another meaning.
	parsed, err := parser.WithMaxSearchYears(maxSearchYears).WithMinEveryInterval(time.Minute).Parse(strings.ToLower(text))
	if err != nil {
		return nil, fmt.Errorf("%q is not a cron expression: %s", document.Cut(text), plainCronError(err))
	}
	switch p := parsed.(type) {
	case *cron.SpecSchedule:
		p.Location = time.UTC
		return &clock{spec: p, zone: zone}, nil
	case cron.ConstantDelaySchedule:
		if p.Delay <= maxMinutes*time.Minute {
			return every(p.Delay), nil
		}
	}
	return nil, fmt.Errorf("%q runs less than once a year", document.Cut(text))
}

// plainCronError returns the text of an error of the cron library without the details of its
// implementation.
func plainCronError(err error) string {
	text, _, _ := strings.Cut(err.Error(), ": strconv.")
	text = strings.Replace(text, "failed to parse int from", "not a number:", 1)
	text = strings.Replace(text, "failed to parse duration", "not a duration:", 1)
	return document.Cut(text)
}

// cutZone removes the zone from the beginning of an expression. given is the zone of the schedule,
// or nil.
func cutZone(text string, given *time.Location) (rest string, zone *time.Location, err error) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		after, ok := strings.CutPrefix(text, prefix)
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(after, " ")
		if given != nil {
			return "", nil, errors.New("a time zone in the expression and one in timezone: keep one of them")
		}
		zone, err := loadZone(name)
		return strings.TrimSpace(rest), zone, err
	}
	if given == nil {
		given = time.Local
	}
	return text, given, nil
}
