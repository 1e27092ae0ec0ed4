package plugindev

import (
	"encoding/json"

	"github.com/patchbay-dev/patchbay/hook"
)

// Sample returns a sample payload of an event at a point: every field that its host sends, with a
// usual value.
func Sample(point hook.Point) json.RawMessage { return payload(point, "") }
