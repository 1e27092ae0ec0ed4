package conformance

import (
	"encoding/json"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/schema/sample"
)

// samples returns values that fit a schema: a minimal one, a full one, and one at its limits.
func samples(raw json.RawMessage) []sample.Value { return sample.All(raw, usablePath) }

// pathNames lists parts of the names of fields whose values are paths.
var pathNames = []string{"path", "file", "dir", "folder"}

// usablePath gives a field that is probably a path a value that a plugin can use.
func usablePath(field string) (string, bool) {
	for _, part := range pathNames {
		if strings.Contains(strings.ToLower(field), part) {
			return "~/conformance/" + part, true
		}
	}
	return "", false
}
