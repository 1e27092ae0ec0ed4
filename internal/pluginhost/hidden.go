package pluginhost

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Hidden holds the texts that must not appear in anything that other people may read.
type Hidden struct {
	Texts []string

	once     sync.Once
	replacer *strings.Replacer // set by once
}

// Hidden returns the secrets that the host knows: the values of the secrets file and of dotagent's
// file, the server's token, the headers and secret variables of MCP servers, passwords in
// addresses, and environment variables whose names sound secret. It returns the same value until
// the files are read again.
func (h *Host) Hidden() *Hidden {
	s := h.setup()
	s.hiding.Do(func() { s.hidden.Texts = s.secretTexts() })
	return &s.hidden
}

// HiddenIn returns the same secrets for a program without a host: those of the files and of the
// environment. With nil files, HiddenIn reads them itself and skips those that cannot be read;
// opening a host reports these.
func HiddenIn(d config.Dirs, files *Files, environ []string) *Hidden {
	if files == nil {
		files = &Files{Config: &config.Config{}}
		if read, err := config.Load(d.ConfigFile); err == nil {
			files.Config = read
		}
		if secrets, err := config.LoadSecrets(d.SecretsFile); err == nil {
			files.Secrets = secrets
		}
	}
	s := &setup{dirs: d, env: dialect.Env{Vars: environ}, config: files.Config, secrets: files.Secrets}
	s.Environ = environ
	return &Hidden{Texts: s.secretTexts()}
}

func (s *setup) secretTexts() []string {
	all, _ := s.dirs.JobSecrets(s.secrets) // a value that cannot be read there was never given to a plugin
	texts := append(s.secrets.Values(), all.Values()...)
	texts = append(texts, s.config.Server.Token.Reveal())
	for _, v := range s.Environ {
		if name, value, ok := strings.Cut(v, "="); ok && secretenv.Looks(name) {
			texts = append(texts, value)
		}
	}
	for _, address := range []string{s.config.Engine.URL, s.config.Model.BaseURL, s.config.Telemetry.OTLP} {
		texts = append(texts, passwordIn(address))
	}
	for _, m := range s.config.MCP {
		texts = append(texts, passwordIn(m.URL))
		for _, text := range m.Headers {
			texts = append(texts, s.parts(text)...)
		}
		for name, text := range m.Env {
			if secretenv.Looks(name) {
				texts = append(texts, s.parts(text)...)
			}
		}
	}
	return texts
}

// parts returns a text with its secrets filled in, and the part behind a scheme such as Bearer.
func (s *setup) parts(text string) []string {
	value, err := s.expand(text)
	if err != nil {
		return nil // so the server was not started with it
	}
	parts := []string{value}
	if _, rest, ok := strings.Cut(value, " "); ok {
		parts = append(parts, strings.TrimSpace(rest))
	}
	return parts
}

func passwordIn(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

// ShortestHidden is the length of the shortest secret that is searched for in other texts. A
// shorter one, such as "eu" or "1", would be found everywhere.
const ShortestHidden = 6

// HiddenText replaces a secret. It is the text that [config.Secret] prints.
const HiddenText = "[secret]"

// Clean returns the text with every secret replaced by [HiddenText]. Secrets are found as they are,
// and as they are written in JSON, in addresses and in Base64.
func (h *Hidden) Clean(text string) string {
	h.once.Do(func() {
		var forms []string
		for _, secret := range h.Texts {
			if secret = strings.TrimSpace(secret); len(secret) >= ShortestHidden {
				forms = append(forms, spellings(secret)...)
			}
		}
		// The longest first: of two secrets, one may begin with the other.
		slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
		var pairs []string
		for _, form := range slices.Compact(forms) {
			pairs = append(pairs, form, HiddenText)
		}
		h.replacer = strings.NewReplacer(pairs...)
	})
	return h.replacer.Replace(text)
}

func spellings(secret string) []string {
	quoted := rawjson.String(secret)
	return []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret))}
}

// CleanJSON is Clean for the strings in valid JSON. Everything else stays: a secret of digits may
// also be a part of a number.
func (h *Hidden) CleanJSON(data json.RawMessage) json.RawMessage {
	var out json.RawMessage // nil as long as no string has changed
	copied := 0
	for i := 0; i < len(data) && len(h.Texts) > 0; i++ {
		if data[i] != '"' {
			continue
		}
		end, _, err := rawjson.Skip(data, i)
		if err != nil {
			return data // the caller says that it is valid
		}
		if text, ok := rawjson.Unquote(data[i:end]); ok && len(text) >= ShortestHidden {
			if clean := h.Clean(text); clean != text {
				out = append(append(out, data[copied:i]...), rawjson.String(clean)...)
				copied = end
			}
		}
		i = end - 1
	}
	if out == nil {
		return data
	}
	return append(out, data[copied:]...)
}
