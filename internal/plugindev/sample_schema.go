package plugindev

import (
	"encoding/json"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/schema/sample"
)

// arguments returns sample arguments of a tool from its schema: every field, or only the required
// ones if that does not fit. Examples and defaults in the schema are used first. If nothing fits,
// the call fails and shows the author why.
func arguments(raw json.RawMessage) json.RawMessage { return sample.Object(raw, texts) }

// usual holds values for fields of these names.
var usual = map[string]string{"path": "README.md", "file": "README.md", "url": "https://example.org/", "text": "some text"}

func texts(field string) (string, bool) {
	text, ok := usual[strings.ToLower(field)]
	return text, ok
}
