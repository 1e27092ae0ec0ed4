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

// mask stands for a secret wherever something is shown.
const mask = "***"

// A view says whether what is built is for the service or for a person's eyes.
type view bool

const (
	revealed view = false
	masked   view = true
)

// A text is a string setting. Printed by accident, it shows what may be shown.
type text struct {
	value string
	shown string

	unexpanded bool // what its variables stand for is not known yet
	faulty     bool // it was complained about
}

func (t text) in(v view) string {
	if v == masked {
		return t.shown
	}
	return t.value
}

// Format hides the value from every verb.
func (t text) Format(f fmt.State, _ rune) {
	// A fmt.State that cannot be written to has nowhere to report it.
	_, _ = io.WriteString(f, t.shown)
}

// A scrubber takes secrets out of foreign texts: services repeat what they were sent, and net/http
// names the URL.
type scrubber struct {
	replace *strings.Replacer
	short   bool // one of the secrets is too short to be found in a text
}

// minSecret is the length below which a secret cannot be told from a word of the text.
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
	// The longest first: of a secret that begins like another one nothing may be left.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range all {
		pairs = append(pairs, form, mask)
	}
	s.replace = strings.NewReplacer(pairs...)
	return s
}

// forms are the ways in which a secret can stand in a text: as it is, and as JSON, URLs and forms
// write it. A service that repeats a body of JSON within JSON has it quoted twice.
func forms(secret string) []string {
	all := []string{secret, url.PathEscape(secret), url.QueryEscape(secret)}
	for _, once := range quotings(secret) {
		all = append(append(all, once), quotings(once)...)
	}
	if u, err := url.Parse(secret); err == nil && u.Path != "" && len(u.Path) >= minSecret {
		all = append(all, u.Path, u.RequestURI()) // a webhook's secret is its path
	}
	return all
}

// quotings are a text as Go and JSON quote it, without the quotes. JSON may escape what could be
// markup.
func quotings(s string) []string {
	plain := strconv.Quote(s)
	markup, _ := json.Marshal(s) // a string can always be written
	return []string{plain[1 : len(plain)-1], string(markup[1 : len(markup)-1])}
}

// maxSaid bounds what an error repeats of a service's words.
const maxSaid = 300

// scrub makes a foreign text fit for an error: no secret, no control characters, short, quoted.
func (s scrubber) scrub(foreign string) string {
	if s.short && foreign != "" {
		return "(its words are not shown: a setting is too short to be kept out of them)"
	}
	plain := s.replace.Replace(clean(foreign)) // in this order: what clean takes out may have parted a secret
	return strconv.Quote(cut(oneLine(plain), maxSaid, characters))
}
