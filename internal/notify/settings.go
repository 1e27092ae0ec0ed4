package notify

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/fixes"
)

// A SettingsError lists everything that is wrong with a notifier's settings. It contains no value
// of a variable and no value of a secret setting.
type SettingsError struct {
	Driver   string
	Problems []document.Problem // by key
}

func (e *SettingsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "notifier %s: ", e.Driver)
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.Message)
		if p.Fix != "" && len(e.Problems) > 1 {
			fmt.Fprintf(&b, " (%s)", p.Fix)
		}
	}
	if fix := e.Fix(); fix != "" {
		b.WriteString("; " + fix)
	}
	return b.String()
}

// Fix returns the fix of the only problem. If there are several, Error has the fix of each.
func (e *SettingsError) Fix() string {
	if len(e.Problems) != 1 {
		return ""
	}
	return e.Problems[0].Fix
}

// entryKeys are the keys that every [[notifiers]] entry has. Package job reads them.
var entryKeys = []string{"driver", "events", "rate_limit_minutes", "timeout_seconds"}

// Read checks the keys of a built-in driver in a manifest's [[notifiers]] entry, as [New] does, and
// returns their values as the file has them. It does not replace ${NAME}, which New does.
func Read(driver string, t *document.Table) map[string]any {
	builders()[driver](&settings{Table: t, driver: driver, unexpanded: true})
	values := make(map[string]any)
	for _, name := range t.Self.Names() {
		if !slices.Contains(entryKeys, name) {
			values[name] = t.Self.Get(name).Plain()
		}
	}
	return values
}

// settings reads the keys of a notifier. Every key is read by name; a key that is not read is
// unknown.
type settings struct {
	*document.Table
	driver     string
	lookup     func(string) (string, bool)
	unexpanded bool     // variables are not replaced yet
	secrets    []string // values that must not be shown
}

func newSettings(driver string, values map[string]any, lookup func(string) (string, bool)) *settings {
	s := &settings{Table: document.Of("", values), driver: driver, lookup: lookup}
	for _, key := range entryKeys {
		s.Value(key)
	}
	return s
}

// err returns all problems, with one for each unknown key.
func (s *settings) err() error {
	s.End()
	if problems := s.Problems(); len(problems) > 0 {
		return &SettingsError{Driver: s.driver, Problems: problems}
	}
	return nil
}

// scrubber returns a scrubber for the secrets that were read so far.
func (s *settings) scrubber() scrubber { return newScrubber(s.secrets) }

// text reads a string, or returns the zero text if it is absent. The values of variables count as
// secrets, whatever the key.
func (s *settings) text(key string) text {
	t, _ := s.expanded(s.Value(key))
	return t
}

// expanded returns a string with its variables replaced. It returns false if it has reported a
// problem.
func (s *settings) expanded(v document.Value) (text, bool) {
	str, ok := v.Text()
	if !ok {
		return text{faulty: v.Present()}, !v.Present()
	}
	lookup := s.lookup
	if s.unexpanded {
		lookup = func(string) (string, bool) { return "", true }
	}
	t, values, err := expand(str, lookup)
	if err != nil {
		fix := fixes.Of(err)
		v.Bad(fix, "%v", err)
		return text{faulty: true}, false
	}
	if s.unexpanded && len(values) > 0 {
		return text{unexpanded: true}, true
	}
	s.secrets = append(s.secrets, values...)
	return t, true
}

// secret reads a string that is never shown. It goes into a header or an address, so it must not
// have spaces.
func (s *settings) secret(key string) text {
	t := s.text(key)
	t.value = strings.TrimSpace(t.value) // a secrets file or $(cat file) may add line ends
	if t.value == "" {
		return text{faulty: t.faulty, unexpanded: t.unexpanded}
	}
	if strings.ContainsFunc(t.value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		s.Bad(key, "remove spaces, line ends and characters that are not ASCII", "has characters that are not allowed")
	}
	t.shown = mask
	s.secrets = append(s.secrets, t.value)
	return t
}

// required reports a problem if a setting is absent or empty.
func (s *settings) required(key string, t text) text {
	if t.value == "" && !t.faulty && !t.unexpanded {
		s.Missing(key, `"…"`)
	}
	return t
}

// word reads a string, or a whole number that is written without quotes.
func (s *settings) word(key string) text {
	v := s.Value(key)
	if v.Kind() != document.Number {
		return s.text(key)
	}
	if _, ok := v.Whole(); !ok {
		return text{faulty: true}
	}
	digits := string(v.JSON())
	return text{value: digits, shown: digits}
}

// oneOf reads a string that must be one of allowed, or returns "" if it is absent.
func (s *settings) oneOf(key string, allowed ...string) string {
	t := s.text(key)
	if t.value == "" || slices.Contains(allowed, t.value) {
		return t.value
	}
	if t.shown != t.value {
		s.Bad(key, "write one of them", "must be one of %s, got %q", strings.Join(allowed, ", "), t.shown)
		return ""
	}
	s.Value(key).OneOf(allowed...)
	return ""
}

// level reads a number on a service's scale, or its name; names[0] is the name of the lowest
// number. It returns nil if the key is absent.
func (s *settings) level(key string, lowest, highest int, names []string) *int64 {
	if s.Value(key).Kind() != document.String {
		return s.number(key, lowest, highest)
	}
	i := slices.Index(names, s.oneOf(key, names...))
	if i < 0 {
		return nil
	}
	n := int64(min(lowest+i, highest))
	return &n
}

// list reads an array of strings.
func (s *settings) list(key string) []text {
	return document.Each(s.Value(key), "an array of strings", s.expanded)
}

// number reads a whole number in a range, or returns nil if it is absent.
func (s *settings) number(key string, least, most int) *int64 {
	n, ok := s.Value(key).Within(least, most)
	if !ok {
		return nil
	}
	wide := int64(n)
	return &wide
}

// address reads an HTTP URL that contains no secret, or returns fallback if it is absent.
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
		s.Bad(key, "write only https://HOST, with a port and a path if needed", "must be a plain URL, without user, ? and #")
	}
	t.value, t.shown = strings.TrimRight(t.value, "/"), strings.TrimRight(t.shown, "/")
	return t
}

// webhook reads a URL that is itself a secret, since everyone who has it can post. Only its host is
// shown.
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
		s.Bad(key, "write https://HOST…", "not a web address") // without the value, which may be a secret
		return nil
	}
	return u
}

// unencrypted reports whether a message to an address crosses a network unencrypted.
func unencrypted(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}
