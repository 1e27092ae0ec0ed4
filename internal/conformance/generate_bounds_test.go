package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestGenerateEnds: a schema that refers to itself from many places has values, or none, and not for ever.
func TestGenerateEnds(t *testing.T) {
	var properties []string
	for i := range 40 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
	}
	for _, s := range generate(json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)) {
		if len(s.value) > 1<<20 {
			t.Errorf("the %s sample has %d bytes", s.size, len(s.value))
		}
	}
}
