package pluginhost

import (
	"bytes"
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
	replacer *strings.Replacer // set by once, as is begins
	begins   beginnings        // of the texts that replacer replaces
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
		if name, value, ok := strings.Cut(v, "="); ok && secretenv.Looks(name, value) {
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
			if secretenv.Looks(name, text) {
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
	h.once.Do(h.prepare)
	if !mayHave(&h.begins, text) {
		return text
	}
	return h.replacer.Replace(text)
}

// prepare sets replacer and begins.
func (h *Hidden) prepare() {
	var forms []string
	for _, secret := range h.Texts {
		if secret = strings.TrimSpace(secret); len(secret) >= ShortestHidden {
			forms = append(forms, spellings(secret)...)
		}
	}
	// The longest first: of two secrets, one may begin with the other.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs := []string{HiddenText, HiddenText} // a text may be cleaned twice, and "secret" may be a secret
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, HiddenText)
		h.begins.add(form)
	}
	h.replacer = strings.NewReplacer(pairs...)
}

// beginnings is a set of the first four bytes of texts, by their hash. Most texts have no secret,
// and the set shows that sooner than a Replacer, and without a copy. Every stored event is cleaned.
type beginnings [1 << 16 / 64]uint64

func (b *beginnings) add(text string) {
	n := beginning(text, 0)
	b[n/64] |= 1 << (n % 64)
}

// mayHave reports whether a text of the set can be in text.
func mayHave[T ~string | ~[]byte](b *beginnings, text T) bool {
	for i := range len(text) - ShortestHidden + 1 {
		if n := beginning(text, i); b[n/64]&(1<<(n%64)) != 0 {
			return true
		}
	}
	return false
}

// beginning returns a hash of the four bytes at text[i].
func beginning[T ~string | ~[]byte](text T, i int) uint16 {
	n := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24
	return uint16(n * 2654435761 >> 16) // Knuth's multiplicative hash
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
	h.once.Do(h.prepare)
	for i := 0; i < len(data) && len(h.Texts) > 0; i++ {
		if data[i] != '"' {
			continue
		}
		end, _, err := rawjson.Skip(data, i)
		if err != nil {
			return data // the caller says that it is valid
		}
		if inside := data[i+1 : end-1]; bytes.IndexByte(inside, '\\') < 0 && !mayHave(&h.begins, inside) {
			i = end - 1
			continue
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
