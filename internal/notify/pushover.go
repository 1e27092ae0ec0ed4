package notify

import (
	"net/http"
	"net/url"
	"strconv"
)

// pushoverLimit is the maximum number of characters of a message.
const pushoverLimit = 1024

// Pushover repeats an emergency until it is confirmed. It requires the interval and the duration,
// in seconds: at least 30 and at most 10,800. The manifest has no keys for them.
const (
	pushoverEmergency = 2
	pushoverRetry     = "60"
	pushoverExpire    = "3600"
)

// newPushover posts a form, as Pushover documents its parameters. Reach asks Pushover to validate
// the token and the user.
func newPushover(s *settings) maker {
	base := s.address("base_url", "https://api.pushover.net")
	token, user := s.required("token", s.secret("token")), s.required("user", s.secret("user"))
	title, priority := s.text("title"), s.level("priority", -2, pushoverEmergency, pushoverNames)
	return func(o Options) (Notifier, error) {
		r := newRemote(s, o)
		r.message = func(m Message, v view) request {
			form := url.Values{"token": {token.in(v)}, "user": {user.in(v)}}
			headline, m := m.underTitle(title.in(v))
			pushoverText(form, headline, m)
			pushoverUrgency(form, priority)
			return formPost(base.in(v)+"/1/messages.json", form)
		}
		r.probe = formPost(base.value+"/1/users/validate.json", url.Values{"token": {token.value}, "user": {user.value}})
		return r, nil
	}
}

// pushoverNames are the names that Pushover gives the priorities, from -2.
var pushoverNames = []string{"lowest", "low", "normal", "high", "emergency"}

func pushoverText(form url.Values, headline string, m Message) {
	form.Set("title", cut(headline, titleLimit, characters))
	message := m.paragraphs(pushoverLimit, characters)
	if message == "" {
		message = cut(headline, pushoverLimit, characters) // Pushover refuses an empty message
	}
	form.Set("message", message)
	if !m.Time.IsZero() {
		form.Set("timestamp", strconv.FormatInt(m.Time.Unix(), 10))
	}
}

func pushoverUrgency(form url.Values, priority *int64) {
	if priority == nil {
		return
	}
	form.Set("priority", strconv.FormatInt(*priority, 10))
	if *priority == pushoverEmergency {
		form.Set("retry", pushoverRetry)
		form.Set("expire", pushoverExpire)
	}
}

func formPost(address string, form url.Values) request {
	return request{method: http.MethodPost, url: address, kind: kindForm, body: form.Encode()}
}
