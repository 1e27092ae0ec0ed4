package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[secret]"

// A Secret is a text that must not be shown. Printing, logging and marshalling it gives "[secret]";
// only Reveal returns the text. The zero value is the empty text.
//
// It is a struct with a pointer, and not a string type. fmt prints the unexported fields of a
// struct, and go-toml every kind of string, both without calling the methods of Secret. With a
// pointer, neither of them shows the text.
type Secret struct {
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

// String hides the secret.
func (s Secret) String() string { return redacted }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return redacted }

// Format hides the secret from every verb, also from wrong ones, for which fmt shows the value.
func (s Secret) Format(f fmt.State, _ rune) {
	// A fmt.State that cannot be written to has nowhere to report it.
	_, _ = io.WriteString(f, redacted)
}

// LogValue hides the secret from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText hides the secret from TOML, YAML and flags.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// SystemConfig is the [plugins.NAME] table of the secrets file: a kaged plugin's system_config. It
// is hidden in the same way as a [Secret].
type SystemConfig struct {
	values func() map[string]any // a function, because fmt follows a pointer to a map; nil: no table
}

// Reveal returns the table as JSON values, or nil if the file has none. Do not change it.
func (c SystemConfig) Reveal() map[string]any {
	if c.values == nil {
		return nil
	}
	return c.values()
}

// String hides the table.
func (c SystemConfig) String() string { return redacted }

// GoString hides the table from %#v.
func (c SystemConfig) GoString() string { return redacted }

// Format hides the table from every verb.
func (c SystemConfig) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, redacted)
}

// LogValue hides the table from log/slog.
func (c SystemConfig) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON hides the table.
func (c SystemConfig) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText hides the table from TOML, YAML and flags.
func (c SystemConfig) MarshalText() ([]byte, error) { return []byte(redacted), nil }
