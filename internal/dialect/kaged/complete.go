package kaged

import (
	"encoding/json"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Complete is a config with the defaults of the knobs in it, as a plugin is given it. The error
// says what does not fit the schemas and the knobs.
func (m *Manifest) Complete(config, system json.RawMessage) (json.RawMessage, error) {
	s, err := complete(m, dialect.Settings{Config: config, SystemConfig: system})
	return s.Config, err
}
