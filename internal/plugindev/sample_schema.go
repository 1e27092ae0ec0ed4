package plugindev

import (
	"encoding/json"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/schema/sample"
)

// arguments makes up the arguments of a tool from its schema: every field, or where that does not
// fit, those that are required. What the schema's author gave as an example or a default goes
// first. If nothing fits, the author sees why.
func arguments(raw json.RawMessage) json.RawMessage { return sample.Object(raw, texts) }

// usual are values for fields of these names.
var usual = map[string]string{"path": "README.md", "file": "README.md", "url": "https://example.org/", "text": "some text"}

func texts(field string) (string, bool) {
	text, ok := usual[strings.ToLower(field)]
	return text, ok
}
