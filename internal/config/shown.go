package config

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// shown returns a value of a file in a form that may be shown. secret means that it must not be
// shown at all.
func shown(key string, value any) (v any, secret bool) {
	switch {
	case key == "server.token", isPrivate(key):
		return nil, value != ""
	case strings.HasPrefix(key, "mcp["):
		return shownServer(key, value)
	}
	return scrubbed(value), false
}

// Hidden is the placeholder for a value that is not shown.
const Hidden = hidden

// Private reports whether a value of config.toml must not be shown. path has the keys that lead to
// the value, without the indexes of lists.
func Private(path []string, value any) bool {
	if len(path) == 0 {
		return false
	}
	steps := make([]any, 0, len(path)+1)
	for _, key := range path {
		steps = append(steps, key)
	}
	if path[0] == "mcp" {
		steps = slices.Insert(steps, 1, any(0))
	}
	was, err := json.Marshal(value)
	if err != nil {
		return true
	}
	text, secret := shown(document.KeyPath(steps...), value)
	now, err := json.Marshal(text)
	return secret || err != nil || !bytes.Equal(was, now)
}

// Shown returns the config of a plugin with placeholders for values that look like secrets.
func Shown(config map[string]any) map[string]any {
	if config == nil {
		return map[string]any{}
	}
	return scrubbed(config).(map[string]any)
}

// scrubbed returns a value with placeholders for values that look like secrets.
func scrubbed(value any) any {
	switch v := value.(type) {
	case string:
		return withoutPasswords(v)
	case []any:
		return withoutSecrets(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = scrubbed(field)
			if secretName(name) {
				out[name] = hidden
			}
		}
		return out
	}
	return value
}

// isPrivate reports whether a value of a plugin's config has the name of a secret. Secrets belong
// in secrets.toml, but some users write them here.
func isPrivate(key string) bool {
	if !strings.HasPrefix(key, "plugins.") || !strings.Contains(key, ".config.") {
		return false
	}
	_, path, _ := strings.Cut(key, ".config.")
	return secretName(path)
}

// secretWords are words that occur in the names of secrets.
var secretWords = []string{"key", "apikey", "token", "secret", "password", "passwd", "passphrase", "pass", "pwd", "credential", "credentials", "auth", "authorization", "bearer", "cookie"}

// secretName reports whether a name sounds like a secret: api_key, apiKey, GITHUB-TOKEN.
func secretName(name string) bool {
	var words strings.Builder
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && i > 0 && unicode.IsLower(rune(name[i-1])):
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(r))
	}
	return slices.ContainsFunc(strings.Fields(words.String()), func(w string) bool {
		return slices.Contains(secretWords, w) || slices.Contains(secretWords, strings.TrimSuffix(w, "s"))
	})
}

// shownServer is shown for a value of an [[mcp]] table. The values of variables and headers are
// secrets, unless they only refer to one. The path of an address may contain a secret.
func shownServer(key string, value any) (v any, secret bool) {
	text, isText := value.(string)
	switch {
	case strings.Contains(key, "].env.") || strings.Contains(key, "].headers."):
		if isText && onlyRefers(text) {
			return text, false
		}
		return nil, true
	case strings.HasSuffix(key, "].url") && isText:
		return hostOnly(text), false
	}
	return scrubbed(value), false
}

var reference = pattern.New(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// onlyRefers reports whether a text is just ${NAME}, optionally after the name of a scheme.
func onlyRefers(text string) bool {
	rest := strings.ToLower(strings.TrimSpace(reference.Regexp().ReplaceAllString(text, "")))
	return rest != strings.ToLower(text) && slices.Contains([]string{"", "bearer", "basic", "token"}, rest)
}

// hidden is the placeholder for text that is not shown.
const hidden = "…"

// withoutPasswords hides the user, the password and the query of addresses.
func withoutPasswords(text string) string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil && strings.Contains(part, "://") {
			parts[i] = hidden
		}
		if err != nil || u.Host == "" || u.User == nil && u.RawQuery == "" && u.Fragment == "" {
			continue
		}
		parts[i] = u.Scheme + "://" + u.Host + u.EscapedPath()
		if u.User != nil {
			parts[i] = u.Scheme + "://" + hidden + "@" + u.Host + u.EscapedPath()
		}
		if u.RawQuery != "" {
			parts[i] += "?" + hidden
		}
	}
	return strings.Join(parts, ",")
}

// hostOnly hides the part of an address after its host.
func hostOnly(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return hidden
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return u.Scheme + "://" + u.Host + "/" + hidden
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// withoutSecrets hides the value of an argument such as --token, in the next argument or after its
// = sign, and passwords in addresses.
func withoutSecrets(list []any) []any {
	out := slices.Clone(list)
	for i, item := range out {
		text, ok := item.(string)
		if !ok {
			out[i] = scrubbed(item)
			continue
		}
		sign := strings.IndexAny(text, "=:") // --token=…, Authorization: …
		switch {
		case sign > 0 && secretName(text[:sign]):
			out[i] = text[:sign+1] + hidden
		case i > 0 && secretFlag(list[i-1]):
			out[i] = hidden
		default:
			out[i] = withoutPasswords(text)
		}
	}
	return out
}

func secretFlag(item any) bool {
	text, _ := item.(string)
	return strings.HasPrefix(text, "-") && !strings.Contains(text, "=") && secretName(text)
}
