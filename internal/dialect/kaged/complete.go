package kaged

import (
	"encoding/json"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// Complete returns config with the defaults of the knobs added, as the plugin gets it. The error
// lists what does not fit the schemas and the knobs.
func (m *Manifest) Complete(config, system json.RawMessage) (json.RawMessage, error) {
	s, err := complete(m, dialect.Settings{Config: config, SystemConfig: system})
	return s.Config, err
}
