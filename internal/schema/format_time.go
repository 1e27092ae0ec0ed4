package schema

import (
	"strconv"
	"strings"
	"time"
)

// isDateTime follows RFC 3339, section 5.6.
func isDateTime(s string) bool {
	const date = len("2006-01-02")
	return len(s) > date && (s[date] == 'T' || s[date] == 't') && isDate(s[:date]) && isTime(s[date+1:])
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isTime accepts a second 60 only where a leap second can be: at the end of a day in UTC.
func isTime(s string) bool {
	const clock = len("15:04:05")
	if len(s) <= clock || s[2] != ':' || s[5] != ':' {
		return false
	}
	hour, ok1 := twoDigits(s[0:2], 23)
	minute, ok2 := twoDigits(s[3:5], 59)
	second, ok3 := twoDigits(s[6:8], 60)
	rest := s[clock:]
	if fraction, has := strings.CutPrefix(rest, "."); has {
		rest = strings.TrimLeft(fraction, "0123456789")
		if rest == fraction {
			return false
		}
	}
	ahead, ok4 := offset(rest)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return false
	}
	const day = 24 * 60
	return second < 60 || (hour*60+minute-ahead+day)%day == day-1
}

// offset returns how many minutes a clock is ahead of UTC: Z, +01:00.
func offset(s string) (minutes int, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+00:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hour, ok1 := twoDigits(s[1:3], 23)
	minute, ok2 := twoDigits(s[4:6], 59)
	minutes = hour*60 + minute
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, ok1 && ok2
}

func twoDigits(s string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && only(s, isDigit) && n <= most
}

// isDuration follows ISO 8601: units from large to small, or only weeks. RFC 3339, appendix A, does
// not allow leaving out a unit between two others, but people do, as in P1Y1D.
func isDuration(s string) bool {
	s, ok := strings.CutPrefix(s, "P")
	if !ok || s == "" {
		return false
	}
	if weeks, ok := strings.CutSuffix(s, "W"); ok {
		return weeks != "" && only(weeks, isDigit)
	}
	date, clock, hasClock := strings.Cut(s, "T")
	return (date == "" || hasUnits(date, "YMD")) && (!hasClock || hasUnits(clock, "HMS"))
}

// hasUnits reports whether a text is numbers, each followed by one of the units, in their order.
func hasUnits(s, units string) bool {
	last := -1
	for s != "" {
		rest := strings.TrimLeft(s, "0123456789")
		if rest == s || rest == "" {
			return false
		}
		unit := strings.IndexByte(units, rest[0])
		if unit <= last {
			return false
		}
		last, s = unit, rest[1:]
	}
	return last >= 0
}

// isPeriod follows RFC 3339, appendix A: a start and an end, one of which may be a duration.
func isPeriod(s string) bool {
	from, to, ok := strings.Cut(s, "/")
	if !ok {
		return false
	}
	if isDateTime(from) {
		return isDateTime(to) || isDuration(to)
	}
	return isDuration(from) && isDateTime(to)
}
