package notify

import (
	"net/http"
	"net/url"
	"strings"
)

// slackLimit is that of a text object in a block. A message can have 40,000 characters, but nobody
// wants to scroll, and services that take Slack's webhooks have less.
const slackLimit = 3000

// slackPost is the body of an incoming webhook. The last three have an effect with legacy webhooks
// and with services that take Slack's format; Slack's present ones ignore them.
type slackPost struct {
	Text      string `json:"text"`
	Channel   string `json:"channel,omitempty"`
	Username  string `json:"username,omitempty"`
	IconEmoji string `json:"icon_emoji,omitempty"`
}

// newSlack posts to an incoming webhook of Slack, or of what understands the same. Reach asks the
// host for its front page: there is nothing that a webhook could be asked without posting, so that
// the address itself stays unproven.
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
		r.probeOK = func(status int) bool { return status < 500 } // whatever it says, it is there
		return r, nil
	}
}

// slackText is the headline in bold, and the rest below.
func slackText(m Message) string {
	escaped := func(s string) int { return characters(slackEscape(s)) }
	headline := "*" + cut(m.Headline(), slackLimit/4, escaped) + "*"
	rest := m.paragraphs(slackLimit-escaped(headline+"\n"), escaped)
	if rest == "" {
		return slackEscape(headline)
	}
	return slackEscape(headline + "\n" + rest)
}

// slackEscape writes the three characters that Slack wants written otherwise. With them gone, no
// text can mention @channel (<!channel>) or hide a link.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// frontPage is the host of an address, without path and query.
func frontPage(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "" // complained about already
	}
	return u.Scheme + "://" + u.Host + "/"
}
