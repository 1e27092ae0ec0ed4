package model

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// The providers.
const (
	ProviderAnthropic = "anthropic"
	ProviderOpenAI    = "openai" // and every compatible endpoint
	ProviderOffline   = "offline"
)

// Providers returns the possible values of Config.Provider.
func Providers() []string { return []string{ProviderAnthropic, ProviderOpenAI, ProviderOffline} }

// Config names a model and says how to reach it. The zero value is the offline model. It contains
// no key: keys are looked up by name.
type Config struct {
	Provider string // anthropic | openai | offline; "": offline
	Name     string // the provider's name of the model; offline: not needed
	BaseURL  string // "": $ANTHROPIC_BASE_URL or $OPENAI_BASE_URL, or the provider's own
	Script   string // offline: the file with replies; "": it echoes

	Window int           // tokens that a conversation may have; 0: the known limit of the model
	Idle   time.Duration // how long a server may send nothing; 0: DefaultIdle

	// Lookup finds a key in the secrets file, by the name ANTHROPIC_API_KEY or OPENAI_API_KEY. It
	// is called if the environment does not have the key. Pass (*config.Secrets).Lookup, or nil if
	// there is no file.
	Lookup func(name string) (config.Secret, bool)

	Getenv func(name string) string // nil: os.Getenv
	HTTP   *http.Client             // nil: a plain one; redirects are always refused
	Logger *slog.Logger             // nil discards
}

// DefaultIdle is how long a server may send nothing. Providers ping every few seconds; two minutes
// allow for a machine that first loads the model from disk.
const DefaultIdle = 2 * time.Minute

// Open returns the model. It reads the script of an offline model. It does not contact a server.
func Open(c Config) (Model, error) {
	c = c.withDefaults()
	switch c.Provider {
	case ProviderOffline:
		return openOffline(c)
	case ProviderAnthropic:
		return openRemote(c, anthropicEndpoint, newAnthropic)
	case ProviderOpenAI:
		return openRemote(c, openaiEndpoint, newOpenAI)
	}
	return nil, unknownProvider(c.Provider)
}

// With returns the config with the model that a flag or $PATCHBAY_MODEL names. If the provider
// changes, it resets the settings of the endpoint.
func (c Config) With(model string) (Config, error) {
	provider, name, err := ParseName(model)
	if err != nil {
		return c, err
	}
	if provider != c.Provider {
		c.BaseURL, c.Window = "", 0
	}
	if provider != ProviderOffline {
		c.Script = ""
	}
	c.Provider, c.Name = provider, name
	return c, nil
}

// ParseName splits PROVIDER:NAME. The name may contain colons (openai:llama3:8b). The offline model
// needs no name.
func ParseName(s string) (provider, name string, err error) {
	provider, name, _ = strings.Cut(strings.TrimSpace(s), ":")
	switch {
	case !slices.Contains(Providers(), provider):
		return "", "", unknownProvider(provider)
	case name == "" && provider != ProviderOffline:
		return "", "", &nameError{problem: fmt.Sprintf("model %q has no name", cut(s)), fix: fmt.Sprintf("write %s:NAME", provider)}
	}
	return provider, name, nil
}

// A nameError is an invalid name of a model.
type nameError struct{ problem, fix string }

func (e *nameError) Error() string { return e.problem + "; " + e.fix }

// Fix tells how to write the name.
func (e *nameError) Fix() string { return e.fix }

func unknownProvider(provider string) error {
	return &nameError{
		problem: fmt.Sprintf("unknown model provider %q", cut(provider)),
		fix: fmt.Sprintf("write PROVIDER:NAME, where PROVIDER is one of %s (openai also means every compatible endpoint)",
			strings.Join(Providers(), ", ")),
	}
}

func (c Config) withDefaults() Config {
	if c.Provider == "" {
		c.Provider = ProviderOffline
	}
	if c.Idle <= 0 {
		c.Idle = DefaultIdle
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}
