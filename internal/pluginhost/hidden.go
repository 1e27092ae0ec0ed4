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
	forms    []string          // every spelling of the secrets, the longest first; set by once, as are the next two
	replacer *strings.Replacer // replaces the forms
	begins   beginnings        // of the forms, and of their last quarters
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
// and as they are written in JSON, in addresses and in Base64. Where a text was cut, a quarter
// of a secret is enough.
func (h *Hidden) Clean(text string) string {
	h.once.Do(h.prepare)
	if !mayHave(&h.begins, text) {
		return text
	}
	return h.cleanCuts(h.replacer.Replace(text))
}

// prepare sets forms, replacer and begins.
func (h *Hidden) prepare() {
	for _, secret := range h.Texts {
		if secret = strings.TrimSpace(secret); len(secret) >= ShortestHidden {
			h.forms = append(h.forms, spellings(secret)...)
		}
	}
	// The longest first: of two secrets, one may begin with the other.
	slices.SortFunc(h.forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	h.forms = slices.Compact(h.forms)
	pairs := []string{HiddenText, HiddenText} // a text may be cleaned twice, and "secret" may be a secret
	for _, form := range h.forms {
		pairs = append(pairs, form, HiddenText)
		h.begins.add(form)
		h.begins.add(form[len(form)-quarter(form):])
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

// cutMark is where [excerpt.Of] has cut a text. The length of a text that may have been cut without
// the mark is at least shortestCut.
const (
	cutMark     = "…"
	shortestCut = 100
)

// cleanCuts replaces the parts of secrets that were left where a text was cut.
func (h *Hidden) cleanCuts(text string) string {
	long := len(text) >= shortestCut
	if len(h.forms) == 0 || !long && !strings.Contains(text, cutMark) {
		return text
	}
	pieces := strings.Split(text, cutMark)
	for i, piece := range pieces {
		if long || i > 0 {
			piece = h.withoutEnd(piece)
		}
		if long || i < len(pieces)-1 {
			piece = h.withoutBeginning(piece)
		}
		pieces[i] = piece
	}
	return strings.Join(pieces, cutMark)
}

// withoutBeginning replaces the beginning of a secret at the end of a text.
func (h *Hidden) withoutBeginning(text string) string {
	cut := strings.TrimRight(text, " ")
	for _, form := range h.forms {
		from := max(len(cut)-len(form)+1, 0)
		if i := strings.Index(cut[from:], form[:quarter(form)]); i >= 0 && strings.HasPrefix(form, cut[from+i:]) {
			return cut[:from+i] + HiddenText + text[len(cut):]
		}
	}
	return text
}

// withoutEnd replaces the end of a secret at the beginning of a text.
func (h *Hidden) withoutEnd(text string) string {
	cut := strings.TrimLeft(text, " ")
	for _, form := range h.forms {
		end := form[len(form)-quarter(form):]
		if i := strings.Index(cut[:min(len(cut), len(form)-1)], end); i >= 0 && strings.HasSuffix(form, cut[:i+len(end)]) {
			return text[:len(text)-len(cut)] + HiddenText + cut[i+len(end):]
		}
	}
	return text
}

// quarter returns how much of a secret is too much to be shown where a text was cut.
func quarter(form string) int { return max((len(form)+3)/4, min(ShortestHidden, len(form))) }

// spellings returns the ways in which a secret is written.
func spellings(secret string) []string {
	quoted := rawjson.String(secret)
	all := []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret)}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(secret)), within(encoding, 1, secret), within(encoding, 2, secret))
	}
	return all
}

// within returns how a secret is written in Base64 as a part of a longer text, such as
// "user:password". before is the number of bytes before it, modulo 3. The characters that also
// depend on other bytes are left out.
func within(encoding *base64.Encoding, before int, secret string) string {
	text := encoding.EncodeToString([]byte(strings.Repeat("-", before) + secret))
	return text[(8*before+5)/6 : 8*(before+len(secret))/6]
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
