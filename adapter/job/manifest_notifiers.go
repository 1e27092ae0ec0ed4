package job

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/notify"
)

// drivers are all there are, for messages.
var drivers = []string{
	string(DriverDesktop), string(DriverIMessage), string(DriverSlack), string(DriverNtfy),
	string(DriverPushover), string(DriverTelegram), string(DriverPlugin),
}

func readNotifiers(top *document.Table, s Security) []Notifier {
	const list = "notifiers"
	tables := top.Tables(list)
	notifiers := make([]Notifier, 0, len(tables))
	for i, t := range tables {
		n := readNotifier(t, s)
		n.At = placeOf(top, list, i)
		notifiers = append(notifiers, n)
	}
	return notifiers
}

func readNotifier(t *document.Table, s Security) Notifier {
	n := Notifier{
		Driver:    Driver(t.Required("driver")),
		Events:    readEvents(t, "events"),
		RateLimit: readMinutes(t, "rate_limit_minutes"),
	}
	if !slices.Contains(drivers, string(n.Driver)) {
		if n.Driver != "" {
			t.Bad("driver", nearest.Suggest(string(n.Driver), drivers), "%q is no driver", document.Cut(string(n.Driver)))
		}
		return n // whether its other keys are right is not known
	}
	n.Timeout = readNotifierTimeout(t, n.Driver)
	warnOfSilence(t, "events", n.Events)
	own := &settings{Table: t, values: make(map[string]any)}
	own.read(n.Driver, s)
	n.Settings = own.values
	t.End()
	return n
}

// readNotifierTimeout is how long a plugin may take; the other drivers have bounds of their own.
func readNotifierTimeout(t *document.Table, d Driver) time.Duration {
	const key = "timeout_seconds"
	timeout := readSeconds(t, key, 0)
	if timeout != 0 && d != DriverPlugin {
		t.Warn(key, "take it out", "it has no effect on the driver %s, which has a bound of its own", d)
		return 0
	}
	return timeout
}

// settings are the keys of one driver, being read. Values that others may take for secrets are never in a complaint.
type settings struct {
	*document.Table
	values map[string]any
}

// read has every driver's own keys, as the rulings list them. What a driver cannot do without is required.
func (s *settings) read(d Driver, may Security) {
	switch d {
	case DriverDesktop:
		s.texts("title", "subtitle", "icon")
		s.sound("sound")
		s.oneOf("urgency", "low", "normal", "critical")
		s.number("expire_ms", span{0, 24 * 60 * 60 * 1000}) // 0: until it is clicked away
	case DriverIMessage:
		s.required("to")
	case DriverSlack:
		s.required("webhook_url")
		s.url("webhook_url")
		s.texts("channel", "username", "icon_emoji")
	case DriverNtfy:
		s.required("topic")
		s.texts("base_url", "token", "title")
		s.url("base_url")
		s.level("priority", span{1, 5}, notify.NtfyPriorities()...)
		s.list("tags")
	case DriverPushover:
		s.required("token", "user")
		s.texts("title", "base_url")
		s.url("base_url")
		s.level("priority", span{-2, 2}, notify.PushoverPriorities()...)
	case DriverTelegram:
		s.required("bot_token")
		s.chat("chat_id")
		s.oneOf("parse_mode", "MarkdownV2", "HTML", "Markdown")
		s.flag("disable_notification")
		s.texts("base_url")
		s.url("base_url")
	case DriverPlugin:
		s.values["name"] = readPlugin(s.Table, "name", may)
		s.config("config")
	}
}

func (s *settings) required(keys ...string) {
	for _, key := range keys {
		s.values[key] = s.Required(key)
	}
}

func (s *settings) texts(keys ...string) {
	for _, key := range keys {
		if text := s.Text(key, ""); s.Has(key) {
			s.values[key] = text
		}
	}
}

func (s *settings) flag(key string) {
	if b := s.Flag(key); b != nil {
		s.values[key] = *b
	}
}

func (s *settings) number(key string, within span) {
	if n := number(s.Table, key, 0, within); s.Has(key) {
		s.values[key] = n
	}
}

// level is a number on a service's own scale, or the name of one.
func (s *settings) level(key string, within span, names ...string) {
	if s.Value(key).Kind() == document.String {
		s.oneOf(key, names...)
		return
	}
	s.number(key, within)
}

// sound is true, false, or the name of a sound.
func (s *settings) sound(key string) {
	if s.Value(key).Kind() == document.String {
		s.texts(key)
		return
	}
	s.flag(key)
}

func (s *settings) list(key string) {
	if list := s.List(key); list != nil {
		s.values[key] = list
	}
}

func (s *settings) config(key string) {
	s.values[key] = map[string]any{}
	if config := s.Free(key); config != nil {
		s.values[key] = config
	}
}

// oneOf lets a variable pass: what it stands for is known when the message is sent.
func (s *settings) oneOf(key string, allowed ...string) {
	if v := s.Value(key); v.Kind() == document.String {
		if text, _ := v.Text(); isVariable(text) {
			s.values[key] = text
			return
		}
	}
	if word := document.OneOf(s.Table, key, "", allowed...); s.Has(key) {
		s.values[key] = word
	}
}

// chat is a Telegram chat: a number, which people write with and without quotes, or @channel.
func (s *settings) chat(key string) {
	if v := s.Value(key); v.Kind() == document.Number {
		if n, ok := v.Whole(); ok {
			s.values[key] = strconv.Itoa(n)
		}
		return
	}
	s.required(key)
}

// url looks at an address that was read already. It is not shown: a webhook's address is its secret.
func (s *settings) url(key string) {
	text, _ := s.values[key].(string)
	if text == "" || isVariable(text) {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		s.Bad(key, "write https://HOST…", "not a web address")
	}
}

// isVariable tells whether a text has a ${VAR} in it: the rulings, "${VAR} in a notifier's strings comes from the secrets
// file, then the environment".
func isVariable(text string) bool { return strings.Contains(text, "${") }
