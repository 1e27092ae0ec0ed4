package recording

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// secretText replaces a secret. It is the text that [config.Secret] prints.
const secretText = "[secret]"

// shortest is how long a secret must be to be searched inside of other texts. A shorter one, such
// as "eu" or "1", would be found everywhere; it is replaced only if it is the whole text.
const shortest = 6

// A scrubber removes secrets from texts.
type scrubber struct {
	long  *strings.Replacer
	short map[string]bool
}

// newScrubber returns a scrubber for these secrets: plain, and as they are written in JSON, in
// addresses and in Basic authorization.
func newScrubber(secrets []string) *scrubber {
	s := &scrubber{short: make(map[string]bool)}
	var forms []string
	for _, secret := range secrets {
		switch secret = strings.TrimSpace(secret); {
		case len(secret) >= shortest:
			forms = append(forms, spellings(secret)...)
		case secret != "":
			s.short[secret] = true
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }) // the longest first
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, secretText)
	}
	s.long = strings.NewReplacer(pairs...)
	return s
}

func spellings(secret string) []string {
	quoted := rawjson.String(secret)
	return []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret))}
}

func (s *scrubber) text(text string) string {
	if s.short[text] {
		return secretText
	}
	return s.long.Replace(text)
}

// json scrubs every string of a JSON value, also names of fields, and numbers that are secrets.
// Everything else stays.
func (s *scrubber) json(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return nil
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		end := tokenEnd(v, i)
		out = append(out, s.token(v[i:end])...)
		i = end
	}
	return out
}

// tokenEnd returns the index after the string, the word or the single character that begins at i.
func tokenEnd(v []byte, i int) int {
	end := i + 1
	if v[i] == '"' {
		for end < len(v) && v[end] != '"' {
			if v[end] == '\\' {
				end++
			}
			end++
		}
		return min(end+1, len(v))
	}
	if !inWord(v[i]) {
		return end
	}
	for end < len(v) && inWord(v[end]) {
		end++
	}
	return end
}

// inWord reports whether a character belongs to a number, true, false or null.
func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E' || c == '-' || c == '+' || c == '.'
}

func (s *scrubber) token(v []byte) []byte {
	if text, ok := rawjson.Unquote(v); ok {
		if clean := s.text(text); clean != text {
			return rawjson.String(clean)
		}
		return v
	}
	if len(v) >= shortest && s.long.Replace(string(v)) != string(v) {
		return rawjson.String(secretText)
	}
	return v
}

func (s *scrubber) changes(all []hook.Change) []hook.Change {
	out := make([]hook.Change, len(all))
	for i, c := range all {
		out[i] = hook.Change{Path: s.text(c.Path), Old: s.json(c.Old), New: s.json(c.New)}
	}
	return out
}
