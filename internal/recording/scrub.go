package recording

import (
	"encoding/json"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// secretText replaces a secret.
const secretText = pluginhost.HiddenText

// A scrubber removes secrets from texts.
type scrubber struct {
	long  *pluginhost.Hidden
	short map[string]bool // secrets that are replaced only if they are the whole text
}

func newScrubber(secrets []string) *scrubber {
	s := &scrubber{long: &pluginhost.Hidden{Texts: secrets}, short: make(map[string]bool)}
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); secret != "" && len(secret) < pluginhost.ShortestHidden {
			s.short[secret] = true
		}
	}
	return s
}

func (s *scrubber) text(text string) string {
	if s.short[text] {
		return secretText
	}
	return s.long.Clean(text)
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
	if len(v) >= pluginhost.ShortestHidden && s.long.Clean(string(v)) != string(v) {
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
