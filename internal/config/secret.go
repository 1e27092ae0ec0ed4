package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[secret]"

// masked gives a type that embeds it the methods by which its value is printed, logged and
// marshalled: each shows "[secret]".
type masked struct{}

// String returns "[secret]".
func (masked) String() string { return redacted }

// GoString hides the value from %#v.
func (masked) GoString() string { return redacted }

// Format hides the value from every verb, also from wrong ones, for which fmt shows the value.
func (masked) Format(f fmt.State, _ rune) {
	// A fmt.State that cannot be written to has nowhere to report it.
	_, _ = io.WriteString(f, redacted)
}

// LogValue hides the value from log/slog.
func (masked) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON hides the value from JSON.
func (masked) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText hides the value from TOML, YAML and flags.
func (masked) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// A Secret is a text that must not be shown. Printing, logging and marshalling it gives "[secret]";
// only Reveal returns the text. The zero value is the empty text.
//
// It is a struct with a pointer, and not a string type. fmt prints the unexported fields of a
// struct, and go-toml every kind of string, both without calling the methods of Secret. With a
// pointer, neither of them shows the text.
type Secret struct {
	masked
	text *string
}

// NewSecret returns text as a Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text. Pass it directly to the code that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty reports whether the text is empty.
func (s Secret) Empty() bool { return s.text == nil }

// SystemConfig is the [plugins.NAME] table of the secrets file: a kaged plugin's system_config. It
// is hidden in the same way as a [Secret].
type SystemConfig struct {
	masked
	values func() map[string]any // a function, because fmt follows a pointer to a map; nil: no table
}

// Reveal returns the table as JSON values, or nil if the file has none. Do not change it.
func (c SystemConfig) Reveal() map[string]any {
	if c.values == nil {
		return nil
	}
	return c.values()
}
