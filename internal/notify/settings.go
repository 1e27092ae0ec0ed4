package notify

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// A SettingsError is all that is wrong with a notifier's settings. It holds no value that came from a variable, nor any
// of a setting that is a secret.
type SettingsError struct {
	Driver   string
	Problems []Problem // by key
}

// A Problem is one thing wrong with a setting.
type Problem struct {
	Key     string // as the manifest has it
	Message string
	Fix     string // what mends it; may be empty
}

func (e *SettingsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "notifier %s: ", e.Driver)
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s %s", p.Key, p.Message)
		if p.Fix != "" {
			fmt.Fprintf(&b, " (%s)", p.Fix)
		}
	}
	return b.String()
}

// settings are a notifier's keys being read. Every key is asked for by name; err complains about the rest.
type settings struct {
	driver   string
	values   map[string]any
	lookup   func(string) (string, bool)
	asked    []string
	secrets  []string // values that must not be shown
	problems []Problem
}

func newSettings(driver string, values map[string]any, lookup func(string) (string, bool)) *settings {
	return &settings{driver: driver, values: values, lookup: lookup}
}

func (s *settings) bad(key, fix, format string, args ...any) {
	s.problems = append(s.problems, Problem{Key: key, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// err is every complaint, with one for each key that nobody asked for.
func (s *settings) err() error {
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !slices.Contains(s.asked, key) && !slices.Contains(entryKeys, key) {
			s.bad(fmt.Sprintf("%.64q", key), nearest.Suggest(key, s.asked), "is unknown")
		}
	}
	if len(s.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(s.problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return &SettingsError{Driver: s.driver, Problems: s.problems}
}

// entryKeys belong to every [[notifiers]] entry and are for the manifest's reader.
var entryKeys = []string{"driver", "events", "rate_limit_minutes"}

// scrubber is for the secrets that were read so far.
func (s *settings) scrubber() scrubber { return newScrubber(s.secrets) }

func (s *settings) value(key string) (any, bool) {
	s.asked = append(s.asked, key)
	v, ok := s.values[key]
	return v, ok && v != nil
}

// text is a string; the zero text where it is absent. Values of variables are secrets, whatever the key.
func (s *settings) text(key string) text {
	v, ok := s.value(key)
	if !ok {
		return text{}
	}
	str, ok := v.(string)
	if !ok {
		s.bad(key, "", "wants a string, not %s", kind(v))
		return text{}
	}
	return s.expanded(key, str)
}

func (s *settings) expanded(key, str string) text {
	t, values, err := expand(str, s.lookup)
	if err != nil {
		s.bad(key, "", "%v", err)
		return text{}
	}
	s.secrets = append(s.secrets, values...)
	return t
}

// secret is a string that is never shown, and that goes into a header or an address: it has no spaces.
func (s *settings) secret(key string) text {
	t := s.text(key)
	t.value = strings.TrimSpace(t.value) // a secrets file or $(cat file) adds line ends
	if t.value == "" {
		return text{}
	}
	if strings.ContainsFunc(t.value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		s.bad(key, "", "has characters that it cannot have")
	}
	t.shown = mask
	s.secrets = append(s.secrets, t.value)
	return t
}

// required complains where a setting is absent or empty.
func (s *settings) required(key string, t text) text {
	if t.value == "" && !slices.ContainsFunc(s.problems, func(p Problem) bool { return p.Key == key }) {
		s.bad(key, "", "is missing or empty")
	}
	return t
}

// word is a string or a whole number, which some like to write without quotes.
func (s *settings) word(key string) text {
	if n, ok := whole(s.values[key]); ok {
		s.asked = append(s.asked, key)
		digits := strconv.FormatInt(n, 10)
		return text{value: digits, shown: digits}
	}
	return s.text(key)
}

// oneOf is a string that must be one of a few; "" where it is absent.
func (s *settings) oneOf(key string, allowed ...string) string {
	t := s.text(key)
	if t.value == "" || slices.Contains(allowed, t.value) {
		return t.value
	}
	s.bad(key, nearest.Suggest(t.shown, allowed), "cannot be %.64q", t.shown)
	return ""
}

// list is an array of strings.
func (s *settings) list(key string) []text {
	v, ok := s.value(key)
	if !ok {
		return nil
	}
	if strs, ok := v.([]string); ok {
		return s.texts(key, strs)
	}
	items, ok := v.([]any)
	if !ok {
		s.bad(key, "", "wants an array of strings, not %s", kind(v))
		return nil
	}
	strs := make([]string, 0, len(items))
	for i, item := range items {
		str, ok := item.(string)
		if !ok {
			s.bad(key, "", "wants strings, but item %d is %s", i+1, kind(item))
			return nil
		}
		strs = append(strs, str)
	}
	return s.texts(key, strs)
}

func (s *settings) texts(key string, strs []string) []text {
	var all []text
	for _, str := range strs {
		all = append(all, s.expanded(key, str))
	}
	return all
}

// number is a whole number in a range; nil where it is absent.
func (s *settings) number(key string, least, most int64) *int64 {
	v, ok := s.value(key)
	if !ok {
		return nil
	}
	n, ok := whole(v)
	switch {
	case !ok:
		s.bad(key, "", "wants a whole number, not %s", kind(v))
		return nil
	case n < least || n > most:
		s.bad(key, "", "wants a number from %d to %d, not %d", least, most, n)
		return nil
	}
	return &n
}

// flag is a boolean; nil where it is absent.
func (s *settings) flag(key string) *bool {
	v, ok := s.value(key)
	if !ok {
		return nil
	}
	b, ok := v.(bool)
	if !ok {
		s.bad(key, "", "wants true or false, not %s", kind(v))
		return nil
	}
	return &b
}

// address is a URL of HTTP without a secret in it; what the fallback says where it is absent.
func (s *settings) address(key, fallback string) text {
	t := s.text(key)
	if t.value == "" {
		return text{value: fallback, shown: fallback}
	}
	u := s.parse(key, t.value)
	if u == nil {
		return text{}
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		s.bad(key, "", "must be a plain URL, without user, ? and #")
	}
	t.value, t.shown = strings.TrimRight(t.value, "/"), strings.TrimRight(t.shown, "/")
	return t
}

// webhook is a URL that is itself a secret: whoever has it can post. Only its host is shown.
func (s *settings) webhook(key string) text {
	t := s.secret(key)
	if t.value == "" {
		return t
	}
	if u := s.parse(key, t.value); u != nil {
		t.shown = u.Scheme + "://" + u.Host + "/" + mask
	}
	return t
}

func (s *settings) parse(key, value string) *url.URL {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		s.bad(key, "", "wants http://HOST… or https://HOST…") // not quoted: it may be a secret
		return nil
	}
	return u
}

// unencrypted tells whether what is sent to an address can be read on the way.
func unencrypted(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// whole is a number as TOML (int64), JSON (float64) and Go write it.
func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	case float64:
		const exact = 1 << 53 // beyond, a float64 does not tell neighbours apart
		if n == math.Trunc(n) && math.Abs(n) <= exact {
			return int64(n), true
		}
	}
	return 0, false
}

// kind names a value's type as the manifest's author knows it.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int, int64:
		return "a whole number"
	case float64, json.Number:
		return "a number"
	case []any, []string:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a value of another kind"
}
