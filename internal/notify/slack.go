package notify

import (
	"net/http"
	"net/url"
	"strings"
)

// slackLimit is the limit of a text object in a block. A message may have 40,000 characters, but
// that is too long to read, and services that are compatible with Slack's webhooks allow less.
const slackLimit = 3000

// A slackPost is the body of an incoming webhook. The last three fields have an effect only with
// legacy webhooks and with compatible services; Slack's current webhooks ignore them.
type slackPost struct {
	Text      string `json:"text"`
	Channel   string `json:"channel,omitempty"`
	Username  string `json:"username,omitempty"`
	IconEmoji string `json:"icon_emoji,omitempty"`
}

// newSlack posts to an incoming webhook of Slack or of a compatible service. Reach requests the
// front page of the host. It does not check the address itself, because a webhook can only be
// checked by posting.
func newSlack(s *settings) maker {
	hook := s.required("webhook_url", s.webhook("webhook_url"))
	channel, username, icon := s.text("channel"), s.text("username"), s.text("icon_emoji")
	return func(o Options) (Notifier, error) {
		r := newRemote(s, o)
		r.message = func(m Message, v view) request {
			return jsonPost(hook.in(v), slackPost{
				Text:    slackText(m),
				Channel: channel.in(v), Username: username.in(v), IconEmoji: icon.in(v),
			})
		}
		r.probe = request{method: http.MethodHead, url: frontPage(hook.value)}
		r.probeOK = func(status int) bool { return status < 500 } // any such answer proves that the host is there
		return r, nil
	}
}

// slackText returns the headline in bold and the rest below it.
func slackText(m Message) string {
	escaped := func(s string) int { return characters(slackEscape(s)) }
	headline := "*" + cut(m.Headline(), slackLimit/4, escaped) + "*"
	rest := m.paragraphs(slackLimit-escaped(headline+"\n"), escaped)
	if rest == "" {
		return slackEscape(headline)
	}
	return slackEscape(headline + "\n" + rest)
}

// slackEscape escapes the three characters that are special for Slack. An escaped text cannot
// mention @channel (<!channel>) or hide a link.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// frontPage returns an address without path and query.
func frontPage(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "" // settings.webhook has reported it
	}
	return u.Scheme + "://" + u.Host + "/"
}
