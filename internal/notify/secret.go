package notify

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// mask stands for a secret in everything that is shown.
const mask = "***"

// A view says whether a request is built for the service or to be shown to a person.
type view bool

const (
	revealed view = false
	masked   view = true
)

// A text is a string setting. If it is printed by accident, only shown appears.
type text struct {
	value string
	shown string

	unexpanded bool // its variables are not replaced yet
	faulty     bool // a problem was reported already
}

func (t text) in(v view) string {
	if v == masked {
		return t.shown
	}
	return t.value
}

// Format hides the value from every verb.
func (t text) Format(f fmt.State, _ rune) {
	// A write error of a fmt.State cannot be reported.
	_, _ = io.WriteString(f, t.shown)
}

// A scrubber removes secrets from texts of services and libraries: services repeat what they were
// sent, and errors of net/http contain the URL.
type scrubber struct {
	replace *strings.Replacer
	short   bool // a secret is too short to be recognized in a text
}

// minSecret is the length below which a secret cannot be distinguished from other words of a text.
const minSecret = 4

func newScrubber(secrets []string) scrubber {
	var s scrubber
	var all []string
	for _, secret := range secrets {
		switch {
		case secret == "":
		case len(secret) < minSecret:
			s.short = true
		default:
			all = append(all, forms(secret)...)
		}
	}
	// The longest first: a secret may begin with another one, and nothing of it may be left.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range all {
		pairs = append(pairs, form, mask)
	}
	s.replace = strings.NewReplacer(pairs...)
	return s
}

// forms returns the forms that a secret can have in a text: as it is, and as JSON, URLs and forms
// encode it. A service that repeats JSON inside JSON quotes it twice.
func forms(secret string) []string {
	all := []string{secret, url.PathEscape(secret), url.QueryEscape(secret)}
	for _, once := range quotings(secret) {
		all = append(append(all, once), quotings(once)...)
	}
	if u, err := url.Parse(secret); err == nil && u.Path != "" && len(u.Path) >= minSecret {
		all = append(all, u.Path, u.RequestURI()) // the path of a webhook is its secret
	}
	return all
}

// quotings returns s as Go and as JSON quote it, without the quotes. JSON may escape characters of
// markup.
func quotings(s string) []string {
	plain := strconv.Quote(s)
	markup, _ := json.Marshal(s) // a string can always be encoded
	return []string{plain[1 : len(plain)-1], string(markup[1 : len(markup)-1])}
}

// maxSaid bounds how much of a service's text an error repeats.
const maxSaid = 300

// hide removes the secrets from a text.
func (s scrubber) hide(text string) string {
	if s.short {
		return "(its text is not shown: the value of a variable is too short to be recognized in it)"
	}
	return s.replace.Replace(text)
}

// scrub prepares a text for an error: without secrets and control characters, shortened and quoted.
func (s scrubber) scrub(foreign string) string {
	if s.short && foreign != "" {
		return "(its text is not shown: a secret setting is too short to be recognized in it)"
	}
	plain := s.replace.Replace(clean(foreign)) // in this order: a character that clean removes may stand inside a secret
	return strconv.Quote(cut(oneLine(plain), maxSaid, characters))
}
