package notify

import "net/http"

const (
	// ntfyLimit is the length of the longest message; ntfy makes an attachment of a longer one.
	ntfyLimit = 4096 // bytes
	// titleLimit is Pushover's limit for titles. All services with titles use it.
	titleLimit = 250 // characters
)

// An ntfyPost is a message published as JSON to the server's root. In ntfy's other form title and
// tags are headers, which a line end in a text would break.
type ntfyPost struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority *int64   `json:"priority,omitempty"`
	Tags     []string `json:"tags,omitempty"`
}

// newNtfy publishes to a topic of ntfy.sh or of another server. The topic is never shown, because
// everyone who knows it can read and write. Reach asks for the server's health, which checks
// neither topic nor token.
func newNtfy(s *settings) maker {
	base := s.address("base_url", "https://ntfy.sh")
	topic, token := s.required("topic", s.secret("topic")), s.secret("token")
	title, tags, priority := s.text("title"), s.list("tags"), s.level("priority", 1, 5, ntfyNames)
	return func(o Options) (Notifier, error) {
		r := newRemote(s, o)
		r.message = func(m Message, v view) request {
			headline, m := m.underTitle(title.in(v))
			text := m.paragraphs(ntfyLimit, utf8Bytes)
			if text == "" {
				text = cut(headline, ntfyLimit, utf8Bytes) // without one, ntfy shows "triggered"
			}
			post := ntfyPost{
				Topic: topic.in(v), Title: cut(headline, titleLimit, characters), Message: text,
				Priority: priority, Tags: texts(tags, v),
			}
			req := jsonPost(base.in(v)+"/", post)
			req.bearer = token.in(v)
			return req
		}
		r.probe = request{method: http.MethodGet, url: base.value + "/v1/health"}
		r.probeOK = func(status int) bool { return status == http.StatusNotFound } // servers before 1.30 have no such page
		return r, nil
	}
}

// ntfyNames are the names of the priorities, from 1. "urgent" is another name of the last.
var ntfyNames = []string{"min", "low", "default", "high", "max", "urgent"}

func texts(all []text, v view) []string {
	var out []string
	for _, t := range all {
		out = append(out, t.in(v))
	}
	return out
}
