package model

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// An endpoint is the address of a provider, with its key.
type endpoint struct {
	provider string
	base     string        // without a slash at the end
	official bool          // the provider's own, not a compatible one
	keyName  string        // ANTHROPIC_API_KEY or OPENAI_API_KEY
	keyFrom  string        // where the key was found, for messages
	key      config.Secret // empty: none is sent
	client   *http.Client
}

// A site holds the constants of a provider.
type site struct {
	provider string
	base     string // its own endpoint
	prefix   string // ANTHROPIC or OPENAI: the prefix of its variables
	domain   string // of all its endpoints
	drop     string // removed from the end of a base URL, because the path of each request begins with it
}

var (
	anthropicEndpoint = site{ProviderAnthropic, "https://api.anthropic.com", "ANTHROPIC", "anthropic.com", "/v1"}
	openaiEndpoint    = site{ProviderOpenAI, "https://api.openai.com/v1", "OPENAI", "openai.com", ""}
)

// resolve finds the base URL and the key.
func (s site) resolve(c Config) (endpoint, error) {
	e := endpoint{provider: s.provider, keyName: s.prefix + "_API_KEY", client: client(c.HTTP)}
	base, from := c.BaseURL, "base_url"
	if base == "" {
		base, from = c.Getenv(s.prefix+"_BASE_URL"), s.prefix+"_BASE_URL"
	}
	if base == "" {
		base = s.base
	}
	u, err := parseBase(base)
	if err != nil {
		return e, fmt.Errorf("model %s: %s: %w", s.provider, from, err)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), s.drop)
	e.base = u.String()
	e.official = strings.HasSuffix(u.Hostname(), "."+s.domain)
	if err := e.findKey(c); err != nil {
		return e, err
	}
	if !e.key.Empty() && u.Scheme == "http" && !loopback(u.Hostname()) {
		c.Logger.Warn("the model's key is sent unencrypted: base_url is http", "provider", s.provider, "host", u.Host)
	}
	return e, nil
}

// parseBase checks a base URL. Its errors do not quote parts that may contain a secret.
func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must be a plain URL, without user, ? and #: keys go into the environment or the secrets file")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("want http://HOST or https://HOST, got %q", cut(base))
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// findKey takes the key from the environment, or else from the secrets file. Only the provider's
// own endpoint requires one.
func (e *endpoint) findKey(c Config) error {
	text := strings.TrimSpace(c.Getenv(e.keyName))
	e.keyFrom = "the environment"
	if text == "" && c.Lookup != nil {
		if s, ok := c.Lookup(e.keyName); ok {
			text, e.keyFrom = strings.TrimSpace(s.Reveal()), "the secrets file"
		}
	}
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("model %s: %s in %s has characters that a key cannot have", e.provider, e.keyName, e.keyFrom)
	case text == "" && e.official:
		return &Error{Provider: e.provider, Message: "no key", kind: ErrAuth,
			Fix: fmt.Sprintf(`set %s in the environment, or write %s = "…" into secrets.toml (`+"`patchbay config path`"+` says where)`, e.keyName, e.keyName)}
	}
	e.key = config.NewSecret(text)
	return nil
}

// scrub removes the key, plain or quoted, from a foreign text: some servers repeat it.
func (e *endpoint) scrub(text string) string {
	if e.key.Empty() {
		return text
	}
	quoted := strconv.Quote(e.key.Reveal())
	text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], e.key.String())
	return strings.ReplaceAll(text, e.key.Reveal(), e.key.String())
}

// client returns a copy of c, or a plain client, that follows no redirect: net/http would send
// X-Api-Key to the host that the redirect names.
func client(c *http.Client) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	}
	own.CheckRedirect = func(r *http.Request, _ []*http.Request) error { return &redirectError{to: r.URL.Host} }
	return &own
}

// A redirectError is a redirect that was not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("redirected to %q, which is not followed", cut(e.to))
}
